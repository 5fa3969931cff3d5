// Rows by where they are: the nearest to a position, and those inside an outline.

const CELLS = 192;

export class Places {
  constructor(positions) {
    this.positions = positions;
    this.n = positions.length / 2;
    const counts = new Uint32Array(CELLS * CELLS + 1);
    for (let i = 0; i < this.n; i += 1) counts[this.cell(positions[2 * i], positions[2 * i + 1]) + 1] += 1;
    for (let c = 0; c < CELLS * CELLS; c += 1) counts[c + 1] += counts[c];
    this.starts = counts.slice();
    this.rows = new Uint32Array(this.n);
    for (let i = 0; i < this.n; i += 1) this.rows[counts[this.cell(positions[2 * i], positions[2 * i + 1])]++] = i;
  }

  line(value) {
    return Math.max(0, Math.min(CELLS - 1, Math.floor((value + 1) / 2 * CELLS)));
  }

  cell(x, y) {
    return this.line(y) * CELLS + this.line(x);
  }

  nearest(x, y, within) {
    let best = -1;
    let least = within * within;
    this.near(x - within, y - within, x + within, y + within, (row, px, py) => {
      const square = (px - x) ** 2 + (py - y) ** 2;
      if (square < least) [best, least] = [row, square];
    });
    return best;
  }

  near(left, bottom, right, top, visit) {
    for (let v = this.line(bottom); v <= this.line(top); v += 1) {
      for (let at = this.starts[v * CELLS + this.line(left)]; at < this.starts[v * CELLS + this.line(right) + 1]; at += 1) {
        const row = this.rows[at];
        visit(row, this.positions[2 * row], this.positions[2 * row + 1]);
      }
    }
  }

  inside(outline) {
    const xs = outline.map((point) => point[0]);
    const ys = outline.map((point) => point[1]);
    const found = [];
    this.near(Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys), (row, x, y) => {
      if (isInside(outline, x, y)) found.push(row);
    });
    return found;
  }
}

function isInside(outline, x, y) {
  let within = false;
  for (let i = 0, j = outline.length - 1; i < outline.length; j = i, i += 1) {
    const [xi, yi] = outline[i];
    const [xj, yj] = outline[j];
    if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) within = !within;
  }
  return within;
}
