// The item to label: its picture, cells or text, what the model says about it, and why.
import { classColor } from "./colors.js";
import { h, percent } from "./dom.js";

const REST = 200; // milliseconds after which reasons are asked for: predictions come first

export class Card {
  constructor(app) {
    this.app = app;
    this.body = h("div", { class: "hm-item" });
    this.verdict = h("div", { class: "hm-verdict", "aria-live": "polite" });
    this.why = h("div", { class: "hm-why" });
    this.head = h("div", { class: "hm-item-head" });
    this.element = h("section", { class: "hm-card", "aria-label": "Item to label" }, this.head, this.body, this.verdict, this.why);
    this.row = -1;
  }

  async show(row, drawn) {
    const key = JSON.stringify([row, drawn, this.app.version, this.app.state.classes.map(({ name }) => name)]);
    if (key === this.key) return; // the item, and what the model says about it, are shown
    this.key = key;
    if (row !== this.row) {
      this.row = row;
      this.shown = -1;
      this.why.replaceChildren();
    }
    if (row < 0) {
      this.head.replaceChildren();
      this.body.replaceChildren(h("p", { class: "hm-quiet" }, "Nothing is left to label. Click a point on the map to look at it."));
      this.verdict.replaceChildren();
      this.why.replaceChildren();
      return;
    }
    const item = await this.app.connection.item(row);
    if (row !== this.row) return; // somebody went on meanwhile
    if (this.shown !== row) {
      const content = await contentOf(this.app, item, true);
      if (row !== this.row) return;
      this.body.replaceChildren(...content);
      this.shown = row;
    }
    const random = "Drawn at random: such labels, and only these, count for the held-out score.";
    this.head.replaceChildren(
      h("span", { class: "hm-name", title: item.name }, item.name),
      ...(drawn ? [h("span", { class: "hm-chip", title: random }, "random draw")] : []),
      ...(item.label === null ? [] : [h("span", { class: "hm-chip" }, `labelled ${this.app.className(item.label)}`)]),
    );
    this.verdict.replaceChildren(...verdictOf(this.app, item));
    clearTimeout(this.timer);
    if (item.prediction !== undefined) this.timer = setTimeout(() => this.explain(row), REST);
  }

  async explain(row) {
    const { shares } = await this.app.connection.explain(row);
    if (row === this.row) this.why.replaceChildren(await reasonsOf(this.app, shares, 5));
  }
}

export async function contentOf(app, item, large) {
  if (app.state.kind === "image") {
    const image = h("img", { class: "hm-picture", alt: item.name, draggable: "false" });
    image.src = await app.connection.picture(item.row);
    await image.decode().catch(() => {});
    image.classList.toggle("hm-pixels", image.naturalWidth < 100);
    return [image];
  }
  const cells = (item.cells ?? []).slice(0, large ? undefined : 5);
  const table = h("table", { class: "hm-cells" }, h("tbody", {}, cells.map(([name, value]) => h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, value)))));
  if (app.state.kind !== "text") return [table];
  return [h("p", { class: "hm-text" }, large ? item.text : shortened(item.text)), cells.length ? table : null].filter(Boolean);
}

function shortened(text) {
  return text.length > 160 ? `${text.slice(0, 160)}…` : text;
}

export function verdictOf(app, item) {
  if (item.prediction === undefined) return [h("span", { class: "hm-quiet" }, "No prediction yet: label items of two classes.")];
  const others = (item.may_be ?? []).filter((number) => number !== item.prediction);
  return [
    h("span", { class: "hm-quiet" }, "looks like"),
    dotOf(item.prediction),
    h("strong", {}, app.className(item.prediction)),
    h("span", { class: "hm-number" }, percent(item.confidence)),
    others.length ? h("span", { class: "hm-quiet" }, `or ${others.map((number) => app.className(number)).join(", ")}`) : null,
  ].filter(Boolean);
}

export function dotOf(number) {
  const dot = h("span", { class: "hm-dot", "aria-hidden": "true" });
  dot.style.background = classColor(number);
  return dot;
}

export async function reasonsOf(app, shares, count) {
  const list = h("ul", { class: "hm-reasons", "aria-label": "Labelled rows that drove this prediction" });
  for (const { row, class: number, share } of shares.slice(0, count)) {
    const bar = h("span", { class: "hm-bar" });
    bar.style.width = `${Math.max(4, Math.min(100, 130 * Math.abs(share)))}%`;
    bar.style.background = classColor(number);
    const meaning = share >= 0 ? "speaks for it" : "speaks against it";
    list.append(
      h(
        "li",
        { class: share >= 0 ? "hm-for" : "hm-against", title: `row ${row + 1}, labelled ${app.className(number)}, ${meaning}` },
        await thumbnail(app, row),
        h("span", { class: "hm-sign", "aria-hidden": "true" }, share >= 0 ? "+" : "−"),
        h("span", { class: "hm-track" }, bar),
        h("span", { class: "hm-hidden" }, `${app.className(number)} ${meaning}`),
      ),
    );
  }
  return list;
}

export async function thumbnail(app, row) {
  if (app.state.kind !== "image") return h("span", { class: "hm-thumb hm-rownumber" }, String(row + 1));
  const image = h("img", { class: "hm-thumb", alt: "", draggable: "false" });
  image.onload = () => image.classList.toggle("hm-pixels", image.naturalWidth < 24);
  image.src = await app.connection.picture(row);
  return image;
}
