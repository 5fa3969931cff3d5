// How good the model is: its own estimate, what was held out, and the learning curve so far.
import { h, percent, svg } from "./dom.js";

const WIDTH = 268;
const HEIGHT = 132;
const PAD = { left: 34, right: 8, top: 8, bottom: 22 };

export class ProgressView {
  constructor() {
    this.number = h("div", { class: "hm-big", id: "hm-error" }, "–");
    this.note = h("p", { class: "hm-quiet hm-small" });
    this.held = h("p", { class: "hm-small", id: "hm-held-out" });
    this.sets = h("p", { class: "hm-small" });
    this.curve = h("div", { class: "hm-curve" });
    this.element = h(
      "section",
      { "aria-label": "How good the model is" },
      h("h2", {}, "Estimated error"),
      this.number,
      this.note,
      this.curve,
      this.held,
      this.sets,
    );
  }

  show(state) {
    const error = state.expected_error;
    this.number.textContent = error === null ? "–" : percent(error);
    this.note.textContent = error === null ? "There is an estimate as soon as two classes have labels." : "by the model’s own confidence in all rows";
    const points = state.report.curve;
    const last = points.at(-1);
    this.held.replaceChildren(...(last ? [h("strong", {}, `${last.right} of ${last.counted}`), ` random draws right when held out: error ${percent(last.low)} to ${percent(last.high)} (90 %)`] : ["One item in five is drawn at random; only these count here."]));
    const { single } = state.report;
    this.sets.textContent = single === null ? "" : `${percent(single)} of all rows have one answer at 90 %.`;
    this.curve.replaceChildren(points.length ? drawCurve(points) : "");
  }
}

function drawCurve(points) {
  const most = Math.max(10, points.at(-1).labels);
  const top = Math.min(1, Math.max(0.1, ...points.slice(-12).map(({ high }) => high)));
  const x = (labels) => PAD.left + ((WIDTH - PAD.left - PAD.right) * labels) / most;
  const y = (error) => PAD.top + (HEIGHT - PAD.top - PAD.bottom) * (1 - Math.min(error, top) / top);
  const text = `Held-out error over the number of labels: from ${percent(points[0].error)} to ${percent(points.at(-1).error)}`;
  const drawing = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": text });
  for (const share of [0, top / 2, top]) {
    drawing.append(svg("line", { x1: PAD.left, x2: WIDTH - PAD.right, y1: y(share), y2: y(share), class: "hm-grid" }));
    const label = svg("text", { x: PAD.left - 6, y: y(share) + 3.5, "text-anchor": "end" });
    label.textContent = `${Math.round(100 * share)} %`;
    drawing.append(label);
  }
  for (const [labels, anchor] of [[0, "start"], [most, "end"]]) {
    const label = svg("text", { x: x(labels), y: HEIGHT - 6, "text-anchor": anchor });
    label.textContent = labels ? `${labels} labels` : "0";
    drawing.append(label);
  }
  const upper = points.map(({ labels, high }) => `${x(labels)},${y(high)}`);
  const lower = points.map(({ labels, low }) => `${x(labels)},${y(low)}`).reverse();
  drawing.append(svg("polygon", { points: [...upper, ...lower].join(" "), class: "hm-band" }));
  drawing.append(svg("polyline", { points: points.map(({ labels, error }) => `${x(labels)},${y(error)}`).join(" "), class: "hm-line" }));
  const end = points.at(-1);
  drawing.append(svg("circle", { cx: x(end.labels), cy: y(end.error), r: 3.2, class: "hm-end" }));
  return drawing;
}
