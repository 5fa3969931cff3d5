// The map: points, zoom and pan, lasso, hover, and all of it from the keyboard.
import { Camera } from "./camera.js";
import { h } from "./dom.js";
import { Places } from "./places.js";
import { Points } from "./points.js";

const RETICLE = 46; // pixels: radius of what Enter selects
const CLOSE = 12; // pixels within which a point is meant

export class MapView {
  constructor(handlers) {
    this.handlers = handlers; // hover(row, x, y), pick(row), select(rows)
    this.camera = new Camera();
    this.canvas = h("canvas", { class: "hm-points" });
    this.over = h("canvas", { class: "hm-over" });
    this.element = h(
      "div",
      {
        class: "hm-map",
        tabindex: "0",
        role: "application",
        "aria-label": "Map of all rows. Arrow keys move, plus and minus zoom, Enter selects what is in the circle, Home shows all.",
      },
      this.canvas,
      this.over,
    );
    this.points = new Points(this.canvas);
    this.outline = null;
    this.lassoMode = false;
    this.current = this.hovered = -1;
    this.afterPaint = [];
    this.listen();
    this.resizing = new ResizeObserver(() => this.resize());
    this.resizing.observe(this.element);
  }

  start(positions) {
    this.places = new Places(positions);
    this.points.setPositions(positions);
    this.resize();
  }

  setTheme(theme) {
    this.theme = theme;
    this.points.setTheme(theme);
    this.repaint();
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.element;
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    [this.camera.width, this.camera.height, this.ratio] = [Math.max(width, 1), Math.max(height, 1), ratio];
    for (const canvas of [this.canvas, this.over]) {
      canvas.width = Math.max(1, Math.round(width * ratio));
      canvas.height = Math.max(1, Math.round(height * ratio));
    }
    this.repaint();
  }

  show({ classes, confidence, rows, labels }) {
    const { info } = this.points;
    for (let i = 0; i < classes.length; i += 1) {
      info[4 * i] = classes[i];
      info[4 * i + 1] = confidence[i];
      info[4 * i + 3] = 0;
    }
    for (let k = 0; k < rows.length; k += 1) {
      info[4 * rows[k]] = labels[k];
      info[4 * rows[k] + 1] = 255;
      info[4 * rows[k] + 3] = 255;
    }
    this.points.labeled = rows;
    this.points.upload();
    this.repaint();
  }

  setMode(mode) {
    this.points.mode = mode === "confidence" ? 1 : 0;
    this.repaint();
  }

  setSelected(rows) {
    const { info } = this.points;
    for (let i = 2; i < info.length; i += 4) info[i] = 0;
    for (const row of rows) info[4 * row + 2] = 255;
    this.points.anySelected = rows.length > 0;
    this.points.upload();
    this.repaint();
  }

  setCurrent(row) {
    if (row === this.current) return;
    this.current = row;
    this.repaintOver();
  }

  repaint(then) {
    if (then) this.afterPaint.push(then);
    this.stale = true;
    this.repaintOver();
  }

  repaintOver() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = 0;
      if (this.stale) this.points.draw(this.camera, this.ratio || 1); // it may take longer than all the rest
      this.stale = false;
      this.drawOver();
      for (const call of this.afterPaint.splice(0)) call();
    });
  }

  drawOver() {
    const context = this.over.getContext("2d");
    const ratio = this.ratio || 1;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.camera.width, this.camera.height);
    if (!this.places || !this.theme) return;
    context.lineWidth = 2;
    if (this.current >= 0) this.drawTarget(context, this.current);
    if (this.hovered >= 0) this.drawRing(context, this.hovered, 7, this.theme.ink);
    if (document.activeElement === this.element && this.keyboard) this.drawReticle(context);
    if (this.outline) this.drawOutline(context);
  }

  screenOf(row) {
    return this.camera.toScreen(this.places.positions[2 * row], this.places.positions[2 * row + 1]);
  }

  drawRing(context, row, radius, color) {
    const [x, y] = this.screenOf(row);
    context.strokeStyle = color;
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.stroke();
  }

  drawTarget(context, row) {
    const [x, y] = this.screenOf(row);
    context.strokeStyle = this.theme.accent;
    context.beginPath();
    context.arc(x, y, 11, 0, 2 * Math.PI);
    for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
      context.moveTo(x + 11 * dx, y + 11 * dy);
      context.lineTo(x + 18 * dx, y + 18 * dy);
    }
    context.stroke();
  }

  drawReticle(context) {
    context.strokeStyle = this.theme.accent;
    context.setLineDash([5, 5]);
    context.beginPath();
    context.arc(this.camera.width / 2, this.camera.height / 2, RETICLE, 0, 2 * Math.PI);
    context.stroke();
    context.setLineDash([]);
  }

  drawOutline(context) {
    context.strokeStyle = this.theme.accent;
    context.fillStyle = this.theme.wash;
    context.beginPath();
    this.outline.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
    context.closePath();
    context.fill();
    context.stroke();
  }

  listen() {
    const { element } = this;
    element.addEventListener("wheel", (event) => this.onWheel(event), { passive: false });
    element.addEventListener("mousedown", (event) => event.preventDefault()); // the focus stays: + is a new class there
    element.addEventListener("pointerdown", (event) => this.onDown(event));
    element.addEventListener("pointermove", (event) => this.onMove(event));
    element.addEventListener("pointerup", (event) => this.onUp(event));
    element.addEventListener("pointercancel", () => this.endDrag());
    element.addEventListener("pointerleave", () => this.hover(-1));
    element.addEventListener("dblclick", () => this.reset());
    element.addEventListener("keydown", (event) => this.onKey(event));
    for (const name of ["focus", "blur"]) element.addEventListener(name, () => this.repaintOver());
  }

  place(event) {
    const box = this.element.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  onWheel(event) {
    event.preventDefault();
    this.camera.zoomAt(...this.place(event), Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0016)));
    this.hover(-1);
    this.repaint();
  }

  onDown(event) {
    if (event.button !== 0 || !this.places) return;
    this.keyboard = false;
    this.element.setPointerCapture(event.pointerId);
    const at = this.place(event);
    this.drag = { from: at, last: at, moved: false, lasso: this.lassoMode || event.shiftKey };
    if (this.drag.lasso) this.outline = [at];
  }

  onMove(event) {
    if (!this.places) return;
    const at = this.place(event);
    if (!this.drag) {
      const row = this.places.nearest(...this.camera.toWorld(...at), CLOSE / this.camera.scale);
      this.hover(row, ...at);
      return;
    }
    if (Math.hypot(at[0] - this.drag.from[0], at[1] - this.drag.from[1]) > 4) this.drag.moved = true;
    if (this.drag.lasso) this.outline.push(at);
    else if (this.drag.moved) this.camera.pan(at[0] - this.drag.last[0], at[1] - this.drag.last[1]);
    this.drag.last = at;
    this.hover(-1);
    if (this.drag.lasso) this.repaintOver();
    else this.repaint();
  }

  onUp(event) {
    const { drag } = this;
    if (!drag) return;
    if (drag.lasso && drag.moved) {
      this.handlers.select(this.places.inside(this.outline.map((point) => this.camera.toWorld(...point))));
    } else if (!drag.moved) {
      const row = this.places.nearest(...this.camera.toWorld(...this.place(event)), CLOSE / this.camera.scale);
      if (row >= 0) this.handlers.pick(row);
      else this.handlers.select([]);
    }
    this.endDrag();
  }

  endDrag() {
    this.drag = this.outline = null;
    this.repaintOver();
  }

  hover(row, x, y) {
    if (row === this.hovered && row < 0) return;
    this.hovered = row;
    this.handlers.hover(row, x, y);
    this.repaintOver();
  }

  reset() {
    this.camera.reset();
    this.repaint();
  }

  zoom(factor) {
    this.camera.zoomAt(this.camera.width / 2, this.camera.height / 2, factor);
    this.repaint();
  }

  onKey(event) {
    const step = 60;
    const moves = { ArrowLeft: [step, 0], ArrowRight: [-step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    this.keyboard = true;
    if (event.key in moves) this.camera.pan(...moves[event.key]);
    else if (event.key === "+" || event.key === "=") this.zoom(1.4);
    else if (event.key === "-") this.zoom(1 / 1.4);
    else if (event.key === "Home") this.camera.reset();
    else if (event.key === "Enter") this.handlers.select(this.withinReticle());
    else return;
    event.preventDefault();
    event.stopPropagation();
    this.repaint();
  }

  withinReticle() {
    const circle = Array.from({ length: 32 }, (_, k) => {
      const angle = (2 * Math.PI * k) / 32;
      const x = this.camera.width / 2 + RETICLE * Math.cos(angle);
      return this.camera.toWorld(x, this.camera.height / 2 + RETICLE * Math.sin(angle));
    });
    return this.places.inside(circle);
  }
}
