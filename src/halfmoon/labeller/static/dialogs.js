// Questions: the name of a class, and the list of keys.
import { h } from "./dom.js";

export function askName(root, title, advice, value = "") {
  return new Promise((resolve) => {
    const input = h("input", { type: "text", maxlength: "80", value, "aria-label": title, autocomplete: "off", spellcheck: "false" });
    const dialog = h(
      "dialog",
      { class: "hm-dialog", "aria-label": title },
      h(
        "form",
        { method: "dialog" },
        h("h2", {}, title),
        input,
        h("p", { class: "hm-quiet hm-small" }, advice),
        h("div", { class: "hm-buttons" }, h("button", { type: "button", onclick: () => dialog.close("") }, "Cancel"), h("button", { class: "hm-primary", value: "ok" }, "OK")),
      ),
    );
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "ok" && input.value.trim() ? input.value.trim() : null);
    });
    root.append(dialog);
    dialog.showModal();
    input.focus();
    input.setSelectionRange(value.length > 1 ? 0 : value.length, value.length);
  });
}

const KEYS = [
  ["0–9, a–z", "label the item, or all selected rows"],
  ["Enter", "accept what the model says"],
  ["Space", "skip the item"],
  ["Backspace", "undo"],
  ["+", "new class"],
  ["F2", "rename the class that has the focus"],
  ["Delete", "take the label off"],
  ["Esc", "back to the queue, nothing selected"],
  [".", "colour by class or by confidence"],
  ["Tab", "to the map: arrows move, + and − zoom, Enter selects"],
  ["Shift + drag", "lasso"],
];

export function showKeys(root) {
  const dialog = h(
    "dialog",
    { class: "hm-dialog", "aria-label": "Keys" },
    h("form", { method: "dialog" }, h("h2", {}, "Keys"), h("dl", { class: "hm-keys" }, KEYS.flatMap(([key, text]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, text)])), h("div", { class: "hm-buttons" }, h("button", { class: "hm-primary" }, "Close"))),
  );
  dialog.addEventListener("close", () => dialog.remove());
  root.append(dialog);
  dialog.showModal();
}
