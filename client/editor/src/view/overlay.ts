// The overlay of lines and text: handles, axes, names, numbers, and the selection rectangle.
import type { PerspectiveCamera } from 'three';
import { axis_balls } from './axis_widget.js';
import type { AxisBall } from './axis_widget.js';
import { axis_names, axis_of, plane_of } from './gizmo.js';
import type { GizmoPart, Handle } from './gizmo.js';
import type { Rect } from './pick.js';
import type { Point } from './sight.js';

/** CSS colors. */
export interface OverlayColors {
  axes: [string, string, string];
  accent: string;
  text: string;
  dim: string;
  panel: string;
  line: string;
  warning: string;
  font: string;
}

export interface OverlayState {
  parts: readonly GizmoPart[];
  hot: Handle | null;
  grabbed: Handle | null;
  /** Line along the grabbed axis, from edge to edge. */
  guide: { from: Point; to: Point; axis: number } | null;
  /** The swept angle of a rotation. */
  pie: { center: Point; edge: Point[] } | null;
  numbers: { at: Point; text: { axis: Handle | ''; value: string }[] } | null;
  name: { at: Point; text: string; note: string } | null;
  box: Rect | null;
  /** Knobs of lights. */
  knobs: readonly { at: Point; is_hot: boolean }[];
  widget: { center: Point; hot: AxisBall | null };
  hint: string;
}

export class Overlay {
  readonly canvas = document.createElement('canvas');
  private readonly draw2d: CanvasRenderingContext2D;
  private width = 1;
  private height = 1;

  constructor(public colors: OverlayColors) {
    this.canvas.className = 'viewport-overlay';
    this.canvas.setAttribute('aria-hidden', 'true');
    this.draw2d = this.canvas.getContext('2d')!;
  }

  resize(width: number, height: number, ratio: number): void {
    this.width = width;
    this.height = height;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.draw2d.setTransform(ratio, 0, 0, ratio, 0, 0);
  }

  draw(state: OverlayState, camera: PerspectiveCamera): void {
    const d = this.draw2d;
    d.clearRect(0, 0, this.width, this.height);
    d.lineCap = d.lineJoin = 'round';
    if (state.guide) this.guide(state.guide);
    if (state.pie) this.pie(state.pie);
    for (const part of state.parts) this.part(part, state);
    for (const knob of state.knobs) this.knob(knob);
    this.widget(camera, state.widget);
    if (state.box) this.box(state.box);
    if (state.name) this.pill(state.name.at, [{ text: state.name.text, color: this.colors.text }], state.name.note);
    if (state.numbers)
      this.pill(
        state.numbers.at,
        state.numbers.text.flatMap(({ axis, value }) => [
          ...(axis ? [{ text: axis.toUpperCase(), color: this.color(axis) }] : []),
          { text: value, color: this.colors.text },
        ]),
        '',
      );
    if (state.hint) this.hint(state.hint);
  }

  private color(handle: Handle): string {
    const axis = axis_of(handle) >= 0 ? axis_of(handle) : plane_of(handle);
    return axis >= 0 ? this.colors.axes[axis] : '#e8edf5';
  }

  private part(part: GizmoPart, { hot, grabbed }: OverlayState): void {
    const d = this.draw2d;
    // During a drag, the other handles are drawn faintly.
    const is_hot = grabbed ? part.handle === grabbed : part.handle === hot;
    d.globalAlpha = part.clear * (grabbed && !is_hot ? 0.25 : 1);
    if (d.globalAlpha < 0.02) return;
    const color = is_hot ? '#ffd75e' : this.color(part.handle);
    const under = 'rgba(10, 12, 16, 0.55)';
    d.fillStyle = d.strokeStyle = color;
    switch (part.form) {
      case 'arrow':
      case 'stick': {
        const length = Math.hypot(part.to.x - part.from.x, part.to.y - part.from.y) || 1;
        const way = { x: (part.to.x - part.from.x) / length, y: (part.to.y - part.from.y) / length };
        const head = part.form === 'arrow' ? 15 : 5;
        const neck = { x: part.to.x - way.x * head, y: part.to.y - way.y * head };
        if (length > head) {
          this.stroke([part.from, neck], under, 4.5);
          this.stroke([part.from, neck], color, is_hot ? 3.2 : 2.4);
        }
        d.beginPath();
        if (part.form === 'arrow') {
          const wide = 6;
          d.moveTo(part.to.x + way.x * 2, part.to.y + way.y * 2);
          d.lineTo(neck.x - way.y * wide, neck.y + way.x * wide);
          d.quadraticCurveTo(neck.x - way.x * 3.5, neck.y - way.y * 3.5, neck.x + way.y * wide, neck.y - way.x * wide);
          d.closePath();
        } else d.roundRect(part.to.x - 5.5, part.to.y - 5.5, 11, 11, 2);
        d.strokeStyle = under;
        d.lineWidth = 2;
        d.stroke();
        d.fillStyle = color;
        d.fill();
        break;
      }
      case 'patch': {
        d.beginPath();
        part.corners.forEach((corner, i) => (i ? d.lineTo(corner.x, corner.y) : d.moveTo(corner.x, corner.y)));
        d.closePath();
        const alpha = d.globalAlpha;
        d.globalAlpha = alpha * (is_hot ? 0.75 : 0.35);
        d.fill();
        d.globalAlpha = alpha;
        d.lineWidth = 1.5;
        d.stroke();
        break;
      }
      case 'ring': {
        const alpha = d.globalAlpha;
        const runs = (front: boolean): Point[][] => {
          const found: Point[][] = [];
          part.line.forEach((point, i) => {
            if (i === 0 || point.front !== front || part.line[i - 1].front !== front) {
              if (point.front === front) found.push([point]);
            } else found[found.length - 1].push(point);
          });
          return found;
        };
        d.globalAlpha = alpha * 0.2;
        for (const run of runs(false)) this.stroke(run, color, 1.5);
        d.globalAlpha = alpha;
        for (const run of runs(true)) this.stroke(run, under, 4.5);
        for (const run of runs(true)) this.stroke(run, color, is_hot ? 3.4 : 2.4);
        break;
      }
      case 'circle':
        d.beginPath();
        d.arc(part.center.x, part.center.y, part.radius, 0, 2 * Math.PI);
        d.globalAlpha *= is_hot ? 1 : 0.55;
        d.lineWidth = is_hot ? 2.6 : 1.6;
        d.stroke();
        break;
      case 'knob':
        d.beginPath();
        if (part.handle === 'all') d.roundRect(part.center.x - 6, part.center.y - 6, 12, 12, 2.5);
        else d.arc(part.center.x, part.center.y, part.radius, 0, 2 * Math.PI);
        d.strokeStyle = under;
        d.lineWidth = 3;
        d.stroke();
        d.globalAlpha *= is_hot ? 1 : 0.9;
        d.fill();
        break;
    }
    d.globalAlpha = 1;
  }

  private knob({ at, is_hot }: OverlayState['knobs'][number]): void {
    const d = this.draw2d;
    d.beginPath();
    d.arc(at.x, at.y, is_hot ? 6 : 5, 0, 2 * Math.PI);
    d.strokeStyle = 'rgba(10, 12, 16, 0.55)';
    d.lineWidth = 3;
    d.stroke();
    d.fillStyle = is_hot ? '#ffd75e' : this.colors.accent;
    d.fill();
  }

  private guide({ from, to, axis }: NonNullable<OverlayState['guide']>): void {
    this.draw2d.globalAlpha = 0.55;
    this.stroke([from, to], this.colors.axes[axis], 1);
    this.draw2d.globalAlpha = 1;
  }

  private pie({ center, edge }: NonNullable<OverlayState['pie']>): void {
    const d = this.draw2d;
    d.beginPath();
    d.moveTo(center.x, center.y);
    for (const point of edge) d.lineTo(point.x, point.y);
    d.closePath();
    d.fillStyle = 'rgba(255, 215, 94, 0.18)';
    d.fill();
    this.stroke([edge[0], center, edge[edge.length - 1]], 'rgba(255, 215, 94, 0.9)', 1.25);
  }

  private widget(camera: PerspectiveCamera, { center, hot }: OverlayState['widget']): void {
    const d = this.draw2d;
    if (hot) {
      d.beginPath();
      d.arc(center.x, center.y, 48, 0, 2 * Math.PI);
      d.fillStyle = 'rgba(255, 255, 255, 0.07)';
      d.fill();
    }
    for (const ball of axis_balls(camera, center)) {
      const color = this.colors.axes[ball.axis];
      const is_hot = hot !== null && hot.axis === ball.axis && hot.positive === ball.positive;
      const depth = 0.72 + 0.28 * ((ball.near + 1) / 2);
      d.globalAlpha = is_hot ? 1 : depth;
      if (ball.positive) this.stroke([center, ball], color, 2);
      d.beginPath();
      d.arc(ball.x, ball.y, ball.positive ? 8.5 : 7, 0, 2 * Math.PI);
      d.fillStyle = ball.positive ? color : this.colors.panel;
      d.fill();
      if (!ball.positive) {
        d.globalAlpha *= 0.85;
        d.strokeStyle = color;
        d.lineWidth = 1.5;
        d.stroke();
      }
      d.globalAlpha = 1;
      if (is_hot) {
        d.strokeStyle = '#fff';
        d.lineWidth = 1.5;
        d.stroke();
      }
      if (ball.positive || is_hot) {
        d.fillStyle = ball.positive ? '#14161a' : '#fff';
        d.font = `600 ${ball.positive ? 11 : 9.5}px ${this.colors.font}`;
        d.textAlign = 'center';
        d.textBaseline = 'middle';
        d.fillText((ball.positive ? '' : '−') + axis_names[ball.axis].toUpperCase(), ball.x, ball.y + 0.5);
      }
    }
  }

  private box({ left, top, right, bottom }: Rect): void {
    const d = this.draw2d;
    d.fillStyle = this.colors.accent;
    d.globalAlpha = 0.12;
    d.fillRect(left, top, right - left, bottom - top);
    d.globalAlpha = 0.95;
    d.strokeStyle = this.colors.accent;
    d.lineWidth = 1;
    d.strokeRect(Math.round(left) + 0.5, Math.round(top) + 0.5, Math.round(right - left), Math.round(bottom - top));
    d.globalAlpha = 1;
  }

  /** Draws a small label beside a point, inside the picture and above its status line. */
  private pill(at: Point, words: { text: string; color: string }[], note: string): void {
    const d = this.draw2d;
    d.font = `500 12px ${this.colors.font}`;
    d.textAlign = 'left';
    d.textBaseline = 'middle';
    const shown = words.map(({ text, color }) => ({ text: cut(text, 48), color }));
    const gap = 6;
    const widths = shown.map(({ text }) => d.measureText(text).width);
    const small = `400 11px ${this.colors.font}`;
    d.font = small;
    const under = note ? cut(note, 72) : '';
    const width =
      Math.max(
        widths.reduce((sum, each) => sum + each + gap, -gap),
        under ? d.measureText(under).width : 0,
      ) + 16;
    const height = under ? 40 : 24;
    const x = Math.round(Math.max(4, Math.min(at.x + 16, this.width - width - 4)));
    const y = Math.round(Math.max(4, Math.min(at.y + 18, this.height - height - status_px)));
    d.beginPath();
    d.roundRect(x, y, width, height, 4);
    d.fillStyle = this.colors.panel;
    d.globalAlpha = 0.94;
    d.fill();
    d.globalAlpha = 1;
    d.strokeStyle = this.colors.line;
    d.lineWidth = 1;
    d.stroke();
    let left = x + 8;
    d.font = `500 12px ${this.colors.font}`;
    shown.forEach(({ text, color }, i) => {
      d.fillStyle = color;
      d.fillText(text, left, y + 12.5);
      left += widths[i] + gap;
    });
    if (under) {
      d.font = small;
      d.fillStyle = this.colors.warning;
      d.fillText(under, x + 8, y + 28);
    }
  }

  private hint(text: string): void {
    const d = this.draw2d;
    d.font = `500 11px ${this.colors.font}`;
    d.textAlign = 'center';
    d.textBaseline = 'middle';
    const width = d.measureText(text).width + 20;
    const x = Math.round((this.width - width) / 2);
    const y = this.height - 40;
    d.beginPath();
    d.roundRect(x, y, width, 24, 12);
    d.fillStyle = this.colors.panel;
    d.globalAlpha = 0.9;
    d.fill();
    d.globalAlpha = 1;
    d.fillStyle = this.colors.text;
    d.fillText(text, this.width / 2, y + 12.5);
  }

  private stroke(points: readonly Point[], color: string, width: number): void {
    const d = this.draw2d;
    d.beginPath();
    points.forEach((point, i) => (i ? d.lineTo(point.x, point.y) : d.moveTo(point.x, point.y)));
    d.strokeStyle = color;
    d.lineWidth = width;
    d.stroke();
  }
}

/** Height of the status line at the bottom of the picture. */
const status_px = 34;

function cut(text: string, most: number): string {
  return text.length > most ? text.slice(0, most - 1) + '…' : text;
}
