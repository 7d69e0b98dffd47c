// Which rows of a long list are in sight. Browsers do not draw elements taller than some ten million pixels, so past
// kMaxCanvas the scroll bar stands for more rows than it has pixels.

export const kMaxCanvas = 8_000_000;

export interface Sight {
  canvas: number; // height of the scrolled element
  first: number;
  last: number; // inclusive; first - 1 when there is none
  top: number; // where the first row is drawn
}

export function sight(scrollTop: number, viewHeight: number, total: number, rowHeight: number, overscan = 6): Sight {
  const whole = total * rowHeight;
  const canvas = Math.min(whole, kMaxCanvas);
  const travel = canvas - viewHeight;
  // The place in the whole list that corresponds to the scroll bar's place.
  const at = whole > canvas && travel > 0 ? (Math.min(scrollTop, travel) / travel) * (whole - viewHeight) : scrollTop;
  const first = Math.max(0, Math.floor(at / rowHeight) - overscan);
  const last = Math.min(total - 1, Math.ceil((at + viewHeight) / rowHeight) + overscan);
  return { canvas, first, last, top: first * rowHeight - at + scrollTop };
}

/** The scroll position at which a row is wholly in sight; the present one if it is already. */
export function reveal(index: number, scrollTop: number, viewHeight: number, total: number, rowHeight: number): number {
  const whole = total * rowHeight;
  const canvas = Math.min(whole, kMaxCanvas);
  const scaled = whole > canvas && canvas > viewHeight;
  const factor = scaled ? (whole - viewHeight) / (canvas - viewHeight) : 1;
  const at = scrollTop * factor;
  const top = index * rowHeight;
  if (top < at) return top / factor;
  if (top + rowHeight > at + viewHeight) return (top + rowHeight - viewHeight) / factor;
  return scrollTop;
}
