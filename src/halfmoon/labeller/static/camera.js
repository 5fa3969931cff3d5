// Where one looks at the map from: centre and zoom, between positions of rows and pixels.

export class Camera {
  constructor() {
    this.width = this.height = 1;
    this.reset();
  }

  reset() {
    this.x = this.y = 0;
    this.zoom = 1;
  }

  get scale() {
    return 0.47 * Math.min(this.width, this.height) * this.zoom;
  }

  toScreen(x, y) {
    return [this.width / 2 + (x - this.x) * this.scale, this.height / 2 - (y - this.y) * this.scale];
  }

  toWorld(px, py) {
    return [this.x + (px - this.width / 2) / this.scale, this.y - (py - this.height / 2) / this.scale];
  }

  pan(dx, dy) {
    this.x = Math.max(-1.2, Math.min(1.2, this.x - dx / this.scale));
    this.y = Math.max(-1.2, Math.min(1.2, this.y + dy / this.scale));
  }

  zoomAt(px, py, factor) {
    const [x, y] = this.toWorld(px, py);
    this.zoom = Math.max(0.7, Math.min(200, this.zoom * factor));
    const [after, below] = this.toWorld(px, py);
    this.x += x - after;
    this.y += y - below;
  }
}
