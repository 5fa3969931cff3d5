// The labeller: one state, told by the server, and the views that show it.
import { Card } from "./card.js";
import { Checks } from "./checks.js";
import { Classes } from "./classes.js";
import { askName, showKeys } from "./dialogs.js";
import { grouped, h } from "./dom.js";
import { Hover } from "./hover.js";
import { MapView } from "./map.js";
import { ProgressView } from "./progress.js";
import { themeOf } from "./theme.js";
import { UpNext } from "./upnext.js";

const STAGES = { graph: "Finding neighbours", solves: "Measuring the graph", interpolation: "Preparing instant answers", map: "Drawing the map" };

// What benchmarks measure: when the labels of a revision have come how far.
function mark(name, revision) {
  performance.mark(`halfmoon:${name}`, { detail: { revision } });
}

export class App {
  constructor(root, connection, { page = false } = {}) {
    this.root = root;
    this.page = page;
    this.connection = connection;
    this.state = null;
    this.pending = new Map(); // rows that were answered here and not yet there
    this.picked = null; // {row, how} of a row that somebody wants to look at
    this.selection = [];
    this.version = 0; // of the predictions that are shown
    this.wanted = 0; // of those that were asked for
    this.reported = -1; // revision of the last complete report
  }

  start() {
    this.root.classList.add("hm");
    this.root.classList.toggle("hm-page", this.page);
    this.build();
    this.setTheme();
    const dark = window.matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", () => this.setTheme());
    (this.page ? document : this.root).addEventListener("keydown", (event) => this.onKey(event));
    this.connection.listen(
      (name, data) => this.onEvent(name, data),
      (status) => this.onStatus(status),
    );
  }

  build() {
    this.map = new MapView({
      hover: (row, x, y) => this.hover.show(row, x, y),
      pick: (row) => this.pick(row, "map"),
      select: (rows) => this.select(rows),
    });
    this.hover = new Hover(this);
    this.card = new Card(this);
    this.classes = new Classes(this);
    this.progress = new ProgressView();
    this.checks = new Checks(this);
    this.upNext = new UpNext(this);
    this.title = h("span", { class: "hm-title" });
    this.count = h("span", { class: "hm-count", id: "hm-count", "aria-live": "polite" });
    this.status = h("span", { class: "hm-status", role: "status" });
    this.note = h("div", { class: "hm-note", role: "alert", hidden: true });
    this.busy = h("div", { class: "hm-busy", role: "status" }, h("div", { class: "hm-moon" }), h("p", { class: "hm-busy-text" }, "Connecting"), h("div", { class: "hm-meter" }, h("span", {})));
    this.selected = h("div", { class: "hm-selected", role: "status", hidden: true });
    const button = (name, text, title, onclick, more = {}) => h("button", { type: "button", class: `hm-tool ${name}`, title, onclick, ...more }, text);
    this.undoButton = button("hm-undo", "Undo", "Undo (Backspace)", () => this.undo());
    this.lassoButton = button("hm-lasso", "Lasso", "Draw around rows to select them (or hold Shift)", () => this.toggleLasso(), { "aria-pressed": "false" });
    this.byClass = button("", "Class", "Colour by class (.)", () => this.colorBy("class"), { "aria-pressed": "true" });
    this.byConfidence = button("", "Confidence", "Colour by confidence (.)", () => this.colorBy("confidence"), { "aria-pressed": "false" });
    const header = h(
      "header",
      { class: "hm-header" },
      h("span", { class: "hm-logo", "aria-hidden": "true" }),
      this.title,
      this.count,
      this.status,
      h("span", { class: "hm-space" }),
      button("", "Keys", "All keys (?)", () => showKeys(this.root)),
      h("span", { class: "hm-group", role: "group", "aria-label": "Save" }, h("span", { class: "hm-group-name" }, "Save"), button("hm-save-csv", "CSV", "Save labels and predictions as CSV", () => this.save("csv")), button("hm-save-parquet", "Parquet", "Save labels and predictions as Parquet", () => this.save("parquet")), button("hm-save-model hm-primary", "Model", "Save the model", () => this.save("model"))),
    );
    const tools = h(
      "div",
      { class: "hm-tools" },
      h("span", { class: "hm-group", role: "group", "aria-label": "Colour by" }, this.byClass, this.byConfidence),
      this.lassoButton,
      button("hm-all", "Show all", "Show the whole map (double click)", () => this.map.reset()),
    );
    this.skipButton = button("hm-skip", "Skip", "Skip this item (Space)", () => this.skip());
    this.acceptButton = button("hm-accept", "Accept", "Accept what the model says (Enter)", () => this.accept());
    const left = h(
      "aside",
      { class: "hm-left" },
      this.card.element,
      h("div", { class: "hm-actions" }, this.acceptButton, this.skipButton, this.undoButton),
      this.classes.element,
    );
    const stage = h("main", { class: "hm-stage" }, this.map.element, tools, this.selected, this.hover.element, h("div", { class: "hm-upnext" }, h("span", { class: "hm-group-name" }, "Next"), this.upNext.element), this.busy);
    const right = h("aside", { class: "hm-right" }, this.progress.element, this.checks.element);
    this.root.append(header, left, stage, right, this.note);
  }

  setTheme() {
    this.map.setTheme(themeOf(this.root));
  }

  className(number) {
    return this.state?.classes[number]?.name ?? "?";
  }

  // Events

  async onEvent(name, data) {
    if (name === "progress") return this.showBusy(data);
    if (name === "predictions") {
      this.onPredictions(data);
      return;
    }
    if (this.state && data.revision < this.state.revision && data.phase === this.state.phase) return; // out of order
    this.state = data;
    if (data.phase === "failed") return this.tell(`The data cannot be prepared: ${data.message}`, true);
    if (data.phase !== "ready") return this.showBusy(data.progress);
    await (this.beginning ??= this.begin());
    this.busy.hidden = true;
    this.fetchPredictions(data.version);
    this.renderSoon();
  }

  async begin() {
    this.map.start(await this.connection.positions());
    this.ready = true;
    await this.fetchPredictions(this.state.version);
    this.map.repaint(() => requestAnimationFrame(() => performance.mark("halfmoon:first-paint")));
  }

  onPredictions(data) {
    if (!this.ready) return;
    mark("announced", data.revision);
    this.state.expected_error = data.expected_error;
    data.predicted.forEach((count, i) => {
      if (this.state.classes[i]) this.state.classes[i].predicted = count;
    });
    this.fetchPredictions(data.version);
  }

  async fetchPredictions(version) {
    if (version <= this.wanted) return;
    this.wanted = version;
    if (this.fetching) return; // what is under way is followed by another one
    this.fetching = true;
    let asked;
    try {
      do {
        asked = this.wanted;
        this.showPredictions(await this.connection.predictions());
      } while (asked < this.wanted && this.version < this.wanted);
    } finally {
      this.fetching = false;
    }
  }

  showPredictions(buffer) {
    const [version, revision, n, k] = new Uint32Array(buffer, 0, 4);
    mark("received", revision);
    this.version = version;
    this.wanted = Math.max(this.wanted, version);
    const start = 16 + 4 * k;
    const rows = new Uint32Array(buffer, 16, k);
    const classes = new Uint8Array(buffer, start, n);
    const confidence = new Uint8Array(buffer, start + n, n);
    const labels = new Uint8Array(buffer, start + 2 * n, k);
    this.map.show({ classes, confidence, rows, labels });
    this.map.repaint(() => requestAnimationFrame(() => mark("painted", revision)));
    this.renderSoon();
  }

  onStatus(status) {
    const texts = { connected: "", waiting: "connection lost, trying again", locked: "" };
    this.status.textContent = texts[status];
    this.root.classList.toggle("hm-offline", status !== "connected");
    if (status === "connected" && this.ready) this.version = this.wanted = 0; // another server may count anew
    if (status === "locked") this.tell("The server was started anew with another token. Open the address that it has printed.", true);
  }

  // Views

  renderSoon() {
    this.rendering ??= requestAnimationFrame(() => {
      this.rendering = null;
      this.render();
    });
  }

  render() {
    const { state } = this;
    this.title.textContent = state.title;
    if (this.page) document.title = `${state.title} · ${state.labels} labels · halfmoon`;
    this.count.textContent = `${grouped(state.labels)} of ${grouped(state.rows)} labelled`;
    this.undoButton.disabled = !state.can_undo;
    this.classes.show(state.classes, state.rows);
    this.progress.show(state);
    this.checks.show(state.report.doubts);
    this.upNext.show(this.queue().slice(1, 9));
    this.showCurrent();
    for (const { row } of this.queue().slice(0, 4)) if (state.kind === "image") this.connection.picture(row).catch(() => {});
    if (!state.report.fresh || this.reported === state.revision) return;
    this.reported = state.revision;
    mark("reported", state.revision);
  }

  showCurrent() {
    const { row, drawn } = this.current();
    this.acceptButton.disabled = this.state.expected_error === null;
    this.map.setCurrent(row);
    this.card.show(row, drawn).catch((error) => this.tell(error.message));
  }

  showBusy(progress) {
    this.busy.hidden = false;
    const stage = progress?.stage;
    this.busy.querySelector(".hm-busy-text").textContent = stage ? (STAGES[stage] ?? stage) : "Preparing";
    this.busy.querySelector(".hm-meter span").style.width = stage ? `${(100 * progress.done) / progress.total}%` : "0";
  }

  tell(text, stays = false) {
    this.note.textContent = text;
    this.note.hidden = false;
    clearTimeout(this.noteTimer);
    if (!stays) this.noteTimer = setTimeout(() => (this.note.hidden = true), 6000);
  }

  // What people do

  queue() {
    return this.state.queue.filter(({ row }) => !this.pending.has(row));
  }

  current() {
    if (this.picked) return { row: this.picked.row, drawn: false, how: this.picked.how };
    const [first] = this.queue();
    return first ? { ...first, how: "queue" } : { row: -1, drawn: false, how: "queue" };
  }

  pick(row, how) {
    this.select([]);
    this.picked = { row, how };
    this.showCurrent();
  }

  select(rows) {
    if (!rows.length && !this.selection.length) return;
    this.selection = rows;
    this.map.setSelected(rows);
    this.selected.hidden = !rows.length;
    this.selected.textContent = `${grouped(rows.length)} rows selected: press a key to label them, Esc to let go`;
  }

  label(number) {
    if (!this.ready) return;
    if (this.selection.length) {
      const rows = this.selection;
      this.select([]);
      this.act({ kind: "label", rows, class: number, how: "map" }, rows.length === 1 ? rows : []);
      return;
    }
    const { row, how } = this.current();
    if (row < 0) return;
    this.picked = null;
    this.act({ kind: "label", rows: [row], class: number, how }, [row]);
  }

  async accept() {
    const { row } = this.current();
    if (row < 0 || this.selection.length) return;
    const item = await this.connection.item(row);
    if (item.prediction !== undefined && this.current().row === row) this.label(item.prediction);
  }

  skip() {
    const { row, how } = this.current();
    if (this.picked) {
      this.picked = null;
      this.showCurrent();
    } else if (row >= 0) this.act({ kind: "skip", rows: [row], how }, [row]);
  }

  undo() {
    this.picked = null;
    if (this.state?.can_undo || this.pending.size) this.act({ kind: "undo" }, []);
  }

  async act(action, answered) {
    for (const row of answered) this.pending.set(row, (this.pending.get(row) ?? 0) + 1);
    this.upNext.show(this.queue().slice(1, 9));
    this.showCurrent();
    try {
      const state = await this.connection.act(action);
      mark("acknowledged", state.revision);
      if (state.revision > this.state.revision) this.state = state;
      return state;
    } catch (error) {
      this.tell(error.message);
      return null;
    } finally {
      for (const row of answered) {
        const left = this.pending.get(row) - 1;
        if (left) this.pending.set(row, left);
        else this.pending.delete(row);
      }
      this.renderSoon();
    }
  }

  async newClass(begun = "") {
    const name = await askName(this.root, "New class", "Enter adds the class and labels the item with it.", begun);
    if (name === null) return;
    const state = await this.act({ kind: "class", name }, []);
    if (state) this.label(state.classes.length - 1);
  }

  async rename(number) {
    const name = await askName(this.root, "Rename class", "All labels of the class get the new name.", this.className(number));
    if (name !== null && name !== this.className(number)) this.act({ kind: "rename", class: number, name }, []);
  }

  async save(what) {
    try {
      const { path } = await this.connection.save(what);
      this.tell(what === "model" ? `Saved ${path}. Next: halfmoon predict ${path.split(/[\\/]/).at(-1)} NEW --out predicted.csv` : `Saved ${path}`);
    } catch (error) {
      this.tell(error.message);
    }
  }

  toggleLasso() {
    this.map.lassoMode = !this.map.lassoMode;
    this.lassoButton.setAttribute("aria-pressed", String(this.map.lassoMode));
    this.map.element.classList.toggle("hm-drawing", this.map.lassoMode);
  }

  colorBy(mode) {
    this.mode = mode;
    this.byClass.setAttribute("aria-pressed", String(mode === "class"));
    this.byConfidence.setAttribute("aria-pressed", String(mode === "confidence"));
    this.map.setMode(mode);
  }

  onKey(event) {
    if (!this.ready || event.defaultPrevented || event.isComposing) return;
    if (event.target.closest?.("input, textarea, dialog")) return;
    const undoes = event.key === "Backspace" || ((event.ctrlKey || event.metaKey) && event.key === "z");
    if ((event.ctrlKey || event.metaKey || event.altKey) && !undoes) return;
    const onButton = event.target.closest?.("button") && (event.key === "Enter" || event.key === " ");
    if (onButton) return; // the button has it
    const number = event.repeat ? -1 : this.classes.ofKey(event.key);
    if (undoes) this.undo();
    else if (number >= 0) this.label(number);
    else if (event.key === " " || event.key === "ArrowRight") this.skip();
    else if (event.key === "Enter") this.accept();
    else if (event.key === "Delete") this.label(null);
    else if (event.key === "+" || event.key === "Insert") this.newClass();
    else if (event.key === ".") this.colorBy(this.mode === "confidence" ? "class" : "confidence");
    else if (event.key === "?") showKeys(this.root);
    else if (event.key === "Escape") this.letGo();
    else if (/^[a-z]$/i.test(event.key) && !this.state.classes.length) this.newClass(event.key);
    else return;
    event.preventDefault();
  }

  letGo() {
    this.select([]);
    this.picked = null;
    this.showCurrent();
  }
}
