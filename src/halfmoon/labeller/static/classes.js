// The classes: a key, a colour, how many rows are predicted and how many are labelled. A click labels.
import { classColor } from "./colors.js";
import { grouped, h } from "./dom.js";
import { keysOf } from "./keys.js";

export class Classes {
  constructor(app) {
    this.app = app;
    this.list = h("ul", { class: "hm-classes" });
    this.add = h("button", { class: "hm-add", type: "button", onclick: () => app.newClass() }, h("kbd", {}, "+"), "New class");
    this.hint = h("p", { class: "hm-quiet hm-small" }, "What is this? Type its name: that makes the first class.");
    this.element = h("section", { "aria-label": "Classes" }, this.hint, this.list, this.add);
    this.keys = [];
  }

  show(classes, rows) {
    const names = classes.map(({ name }) => name);
    this.keys = keysOf(names);
    this.hint.hidden = names.length > 0;
    if (this.list.children.length !== names.length || this.names !== names.join("\n")) {
      this.names = names.join("\n");
      this.list.replaceChildren(...names.map((name, i) => this.line(name, i)));
    }
    classes.forEach(({ labels, predicted }, i) => {
      const line = this.list.children[i];
      line.querySelector(".hm-fill").style.width = `${(100 * predicted) / Math.max(rows, 1)}%`;
      line.querySelector(".hm-predicted").textContent = predicted ? grouped(predicted) : "";
      line.querySelector(".hm-labels").textContent = labels ? grouped(labels) : "";
    });
  }

  line(name, i) {
    const fill = h("span", { class: "hm-fill" });
    fill.style.background = classColor(i);
    const swatch = h("span", { class: "hm-dot", "aria-hidden": "true" });
    swatch.style.background = classColor(i);
    const label = h(
      "button",
      { class: "hm-class", type: "button", "data-class": i, title: `Label as ${name}`, onclick: () => this.app.label(i) },
      h("kbd", {}, this.keys[i] ?? ""),
      swatch,
      h("span", { class: "hm-class-name" }, name),
      h("span", { class: "hm-predicted", title: "rows that are predicted" }),
      h("span", { class: "hm-labels", title: "labels" }),
      h("span", { class: "hm-share", "aria-hidden": "true" }, fill),
    );
    const rename = h("button", { class: "hm-rename", type: "button", "aria-label": `Rename ${name}`, title: "Rename (F2)", onclick: () => this.app.rename(i) }, "✎");
    label.addEventListener("keydown", (event) => {
      if (event.key === "F2") this.app.rename(i);
    });
    return h("li", {}, label, rename);
  }

  ofKey(key) {
    return this.keys.indexOf(key.toLowerCase());
  }
}
