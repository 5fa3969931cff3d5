// All rows as points, by WebGL: positions are sent once, and four bytes per row whenever predictions change.
import { paletteBytes } from "./colors.js";

const VERTEX = `#version 300 es
in vec2 position;
in vec4 info; // class, confidence, selected, labelled: bytes as 0 to 1
uniform vec2 scale;
uniform vec2 centre;
uniform float size;
uniform float mode;
uniform float anySelected;
uniform vec3 faint;
uniform sampler2D palette;
out vec4 color;
out float ring;
void main() {
  gl_Position = vec4((position - centre) * scale, 0.0, 1.0);
  vec3 own = texelFetch(palette, ivec2(int(info.x * 255.0 + 0.5), 0), 0).rgb;
  float none = step(254.5, info.x * 255.0);
  float sure = smoothstep(0.25, 0.95, info.y);
  vec3 byClass = mix(mix(faint, own, 0.25 + 0.75 * sure), own, none);
  vec3 byConfidence = mix(mix(vec3(0.95, 0.45, 0.13), vec3(0.93, 0.76, 0.35), smoothstep(0.3, 0.7, info.y)),
                          vec3(0.24, 0.52, 0.72), smoothstep(0.65, 0.97, info.y));
  ring = info.w;
  color = vec4(mix(byClass, mix(byConfidence, own, none), mode), mix(0.62, 0.82, sure));
  color.a = mix(color.a, mix(0.12, 1.0, info.z), anySelected);
  color = mix(color, vec4(own, 1.0), ring);
  gl_PointSize = size * (1.0 + 0.35 * info.z) + ring * 6.0;
}`;

const FRAGMENT = `#version 300 es
precision mediump float;
in vec4 color;
in float ring;
uniform vec3 ground;
out vec4 painted;
void main() {
  float r = length(gl_PointCoord - 0.5) * 2.0;
  if (r > 1.0) discard;
  vec3 shade = mix(color.rgb, ground, ring * step(0.62, r));
  shade = mix(shade, vec3(1.0) - ground, ring * step(0.8, r));
  painted = vec4(shade * color.a, color.a);
}`;

export class Points {
  constructor(canvas) {
    this.canvas = canvas;
    this.gl = canvas.getContext("webgl2", { antialias: false, premultipliedAlpha: true, depth: false });
    if (!this.gl) throw new Error("This browser has no WebGL 2, which the map needs.");
    this.info = new Uint8Array(0);
    this.labeled = new Uint32Array(0);
    this.anySelected = false;
    this.mode = 0;
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    canvas.addEventListener("webglcontextrestored", () => {
      this.begin();
      this.setPositions(this.positions);
      this.setTheme(this.theme);
    });
    this.begin();
  }

  begin() {
    const gl = this.gl;
    const program = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.bindAttribLocation(program, 0, "position");
    gl.bindAttribLocation(program, 1, "info");
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program));
    gl.useProgram(program);
    this.at = (name) => gl.getUniformLocation(program, name);
    this.buffers = { position: gl.createBuffer(), info: gl.createBuffer(), labeled: gl.createBuffer() };
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  setTheme(theme) {
    const gl = this.gl;
    this.theme = theme;
    gl.bindTexture(gl.TEXTURE_2D, this.texture ?? (this.texture = gl.createTexture()));
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, 256, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, paletteBytes(theme.none));
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
    gl.uniform3fv(this.at("faint"), theme.faint);
    gl.uniform3fv(this.at("ground"), theme.ground);
  }

  setPositions(positions) {
    const gl = this.gl;
    this.positions = positions;
    this.n = positions.length / 2;
    if (this.info.length !== 4 * this.n) this.info = new Uint8Array(4 * this.n).fill(0);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers.position);
    gl.bufferData(gl.ARRAY_BUFFER, positions, gl.STATIC_DRAW);
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 2, gl.FLOAT, false, 0, 0);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers.info);
    gl.bufferData(gl.ARRAY_BUFFER, this.info, gl.DYNAMIC_DRAW);
    gl.enableVertexAttribArray(1);
    gl.vertexAttribPointer(1, 4, gl.UNSIGNED_BYTE, true, 0, 0);
  }

  upload() {
    const gl = this.gl;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers.info);
    gl.bufferSubData(gl.ARRAY_BUFFER, 0, this.info);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.buffers.labeled);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, this.labeled, gl.DYNAMIC_DRAW);
  }

  draw(camera, ratio) {
    const gl = this.gl;
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    if (!this.n) return;
    gl.uniform2f(this.at("scale"), (2 * camera.scale) / camera.width, (2 * camera.scale) / camera.height);
    gl.uniform2f(this.at("centre"), camera.x, camera.y);
    const crowd = Math.max(1.6, Math.min(6, 460 / Math.sqrt(this.n)));
    gl.uniform1f(this.at("size"), Math.min(14, crowd * Math.pow(Math.max(camera.zoom, 0.7), 0.45)) * ratio);
    gl.uniform1f(this.at("mode"), this.mode);
    gl.uniform1f(this.at("anySelected"), this.anySelected ? 1 : 0);
    gl.drawArrays(gl.POINTS, 0, this.n);
    if (this.labeled.length) gl.drawElements(gl.POINTS, this.labeled.length, gl.UNSIGNED_INT, 0);
  }
}
