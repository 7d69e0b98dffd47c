// Values as people read them.

/** The server's clock minus ours, in milliseconds; set from /v1alpha1/meta. */
let skew = 0;
export function setServerTime(now: string): void {
  const at = Date.parse(now);
  if (!Number.isNaN(at)) skew = at - Date.now();
}
export const serverNow = () => Date.now() + skew;

export const number = (n: number) => n.toLocaleString("en-US");

/** "1 row", "2 rows"; "1 inventory", "2 inventories". */
export function count(n: number, one: string, many = `${one}s`): string {
  return `${number(n)} ${n === 1 ? one : many}`;
}

/** Of a total that is a lower bound: "2,000+ rows". */
export const countAtLeast = (n: number, many: string) => `${number(n)}+ ${many}`;

const kUnits: [number, string][] = [
  [86_400, "d"],
  [3_600, "h"],
  [60, "min"],
  [1, "s"],
];

/** "42 s", "5 min", "3 h", "12 d". */
export function duration(milliseconds: number): string {
  const seconds = Math.floor(Math.abs(milliseconds) / 1000);
  for (const [length, unit] of kUnits) {
    if (seconds >= length) return `${number(Math.floor(seconds / length))} ${unit}`;
  }
  return "0 s";
}

export function ago(moment: string | undefined | null, now = serverNow()): string {
  const at = moment ? Date.parse(moment) : Number.NaN;
  if (Number.isNaN(at)) return "never";
  const passed = now - at;
  if (Math.abs(passed) < 5_000) return "just now";
  return passed > 0 ? `${duration(passed)} ago` : `in ${duration(passed)}`;
}

/** Local time, with seconds: "2026-11-29 14:03:07". */
export function moment(text: string | undefined | null): string {
  const at = text ? new Date(text) : null;
  if (!at || Number.isNaN(at.getTime())) return "–";
  const two = (n: number) => String(n).padStart(2, "0");
  return (
    `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ` +
    `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`
  );
}

export const kStaleAfter = 3_600_000;

export function isStale(exportedAt: string | undefined | null, now = serverNow()): boolean {
  const at = exportedAt ? Date.parse(exportedAt) : Number.NaN;
  return !Number.isNaN(at) && now - at > kStaleAfter;
}

/** The text of an attribute: a string as it is, anything else as compact JSON (as the filter attr.<name> reads it). */
export function valueText(value: unknown): string {
  if (value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** For people in a cell: a list of plain values without its brackets. */
export function cellText(value: unknown): string {
  if (Array.isArray(value) && value.every((one) => typeof one !== "object" || one === null)) return value.map(valueText).join(", ");
  return value === null ? "" : valueText(value);
}

export function attributesText(attributes: Record<string, unknown> | undefined): string {
  return Object.entries(attributes ?? {})
    .map(([name, value]) => `${name}: ${cellText(value)}`)
    .join(" · ");
}

export const qualified = (namespace: string | undefined, name: string) => (namespace ? `${namespace}/${name}` : name);
