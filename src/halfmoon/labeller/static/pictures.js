// Pictures of rows, each asked for once; the oldest are forgotten when there are many.

const MOST_PICTURES = 400;

export class Pictures {
  constructor(load) {
    this.load = load; // row -> promise of a blob
    this.urls = new Map();
  }

  get(row) {
    if (!this.urls.has(row)) {
      if (this.urls.size >= MOST_PICTURES) this.forget(this.urls.keys().next().value);
      this.urls.set(row, this.load(row).then((blob) => URL.createObjectURL(blob)));
    }
    return this.urls.get(row);
  }

  forget(row) {
    this.urls.get(row).then((url) => URL.revokeObjectURL(url), () => {});
    this.urls.delete(row);
  }

  clear() {
    for (const row of [...this.urls.keys()]) this.forget(row);
  }
}
