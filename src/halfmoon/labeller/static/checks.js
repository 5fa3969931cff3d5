// Labels that the others contradict, to be looked at once more.
import { h, percent } from "./dom.js";
import { dotOf, thumbnail } from "./card.js";

export class Checks {
  constructor(app) {
    this.app = app;
    this.list = h("ul", { class: "hm-checks" });
    this.element = h("section", { "aria-label": "Labels to check", hidden: true }, h("h2", {}, "Worth a second look"), this.list);
    this.key = "";
  }

  async show(doubts) {
    const key = JSON.stringify(doubts);
    if (key === this.key) return;
    this.key = key;
    this.element.hidden = !doubts.length;
    const lines = await Promise.all(doubts.map((doubt) => this.line(doubt)));
    if (key === this.key) this.list.replaceChildren(...lines);
  }

  async line({ row, given, suggested, score }) {
    return h(
      "li",
      {},
      h(
        "button",
        { type: "button", title: `Look at row ${row + 1} again`, onclick: () => this.app.pick(row, "check") },
        await thumbnail(this.app, row),
        dotOf(given),
        this.app.className(given),
        h("span", { class: "hm-quiet" }, "rather"),
        dotOf(suggested),
        this.app.className(suggested),
        h("span", { class: "hm-number" }, percent(score)),
      ),
    );
  }
}
