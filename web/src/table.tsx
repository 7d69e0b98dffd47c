// A table of any length: only the rows in sight are in the page. Arrows, Page Up/Down, Home, End move, Enter opens.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { reveal, sight } from "./window";

export interface Column<T> {
  id: string;
  title: string;
  /** Narrowest width in pixels, and the share of what is left. */
  width: number;
  grow?: number;
  numeric?: boolean;
  /** Stays in sight when the table is scrolled sideways; for the first column. */
  sticky?: boolean;
  /** The name by which the server sorts; none: not sortable. */
  sort?: string;
  cell(row: T): ComponentChildren;
  /** For the browser's own hint where the text is cut. */
  text?(row: T): string;
}

export interface TableProps<T> {
  label: string;
  columns: Column<T>[];
  total: number;
  row(index: number): T | undefined;
  rowClass?(row: T): string;
  /** Told (at most every 80 ms) which rows are in sight. */
  onSight?(first: number, last: number): void;
  sort?: string;
  onSort?(sort: string): void;
  cursor: number; // -1: none
  onCursor(index: number): void;
  onOpen(index: number): void;
  empty: ComponentChildren;
}

export const kRowHeight = 34;
const kHeadHeight = 36;

const cellClass = <T,>(column: Column<T>, more = "") =>
  ["cell", more, column.numeric && "numeric", column.sticky && "sticky"].filter(Boolean).join(" ");

function useThrottled(run: (first: number, last: number) => void, first: number, last: number, total: number): void {
  const state = useRef<{ timer?: ReturnType<typeof setTimeout> | undefined; args: [number, number] }>({ args: [0, 0] });
  const latest = useRef(run);
  latest.current = run;
  useEffect(() => {
    const held = state.current;
    held.args = [first, last];
    if (held.timer !== undefined) return;
    latest.current(first, last);
    held.timer = setTimeout(() => {
      held.timer = undefined;
      latest.current(...held.args);
    }, 80);
  }, [first, last, total]);
  useEffect(() => () => clearTimeout(state.current.timer), []);
}

function ColumnHead<T>({ column, sort, onSort }: { column: Column<T>; sort: string | undefined; onSort?: ((sort: string) => void) | undefined }) {
  const name = column.sort;
  const direction = name && sort === name ? "ascending" : name && sort === `-${name}` ? "descending" : "none";
  const classes = cellClass(column, "head");
  if (!name || !onSort) return <div role="columnheader" class={classes}>{column.title}</div>;
  const next = direction === "none" ? name : direction === "ascending" ? `-${name}` : "";
  return (
    <div role="columnheader" class={classes} aria-sort={direction}>
      <button type="button" tabIndex={-1} class="sort" title={`Sort by ${column.title.toLowerCase()}`} onClick={() => onSort(next)}>
        {column.title}
        <span class="sort-mark" aria-hidden="true">{direction === "ascending" ? "▲" : direction === "descending" ? "▼" : ""}</span>
      </button>
    </div>
  );
}

export function Table<T>(props: TableProps<T>) {
  const { columns, total, cursor } = props;
  const box = useRef<HTMLDivElement>(null);
  const [scrollTop, setScrollTop] = useState(0);
  const [height, setHeight] = useState(600);

  useLayoutEffect(() => {
    const element = box.current!;
    const measure = () => setHeight(Math.max(kRowHeight, element.clientHeight - kHeadHeight));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  const { canvas, first, last, top } = sight(scrollTop, height, total, kRowHeight);
  useThrottled((a, b) => props.onSight?.(a, b), first, Math.max(first, last), total);

  function show(index: number): void {
    const element = box.current!;
    const next = reveal(index, element.scrollTop, height, total, kRowHeight);
    if (next !== element.scrollTop) element.scrollTop = next;
  }
  useEffect(() => {
    if (cursor >= 0 && cursor < total) show(cursor);
  }, [cursor]);

  function onKeyDown(event: KeyboardEvent): void {
    const page = Math.max(1, Math.floor(height / kRowHeight) - 1);
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -total, End: total };
    const step = steps[event.key];
    if (step !== undefined && total > 0 && !event.altKey && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      const from = cursor < 0 ? (step > 0 ? -1 : 0) : cursor;
      props.onCursor(Math.min(total - 1, Math.max(0, from + step)));
    } else if (event.key === "Enter" && cursor >= 0 && event.target === box.current) {
      props.onOpen(cursor);
    }
  }

  const rows = [];
  for (let index = first; index <= last; ++index) {
    const row = props.row(index);
    const classes = ["row", index === cursor && "row-cursor", index % 2 && "row-odd", row && props.rowClass?.(row)].filter(Boolean).join(" ");
    rows.push(
      <div
        key={index}
        id={`row-${index}`}
        role="row"
        aria-rowindex={index + 2}
        aria-selected={index === cursor}
        class={classes}
        style={{ transform: `translateY(${top + (index - first) * kRowHeight}px)` }}
        onClick={() => {
          props.onCursor(index);
          props.onOpen(index);
        }}
      >
        {columns.map((column) => (
          <div key={column.id} role="gridcell" class={cellClass(column)} title={row && column.text ? column.text(row) : undefined}>
            {row ? column.cell(row) : <span class="skeleton" />}
          </div>
        ))}
      </div>,
    );
  }

  const template = columns.map((column) => (column.grow ? `minmax(${column.width}px, ${column.grow}fr)` : `${column.width}px`)).join(" ");
  const width = columns.reduce((sum, column) => sum + column.width, 0);
  return (
    <div
      ref={box}
      class="table"
      role="grid"
      aria-label={props.label}
      aria-rowcount={total + 1}
      aria-colcount={columns.length}
      aria-activedescendant={cursor >= first && cursor <= last ? `row-${cursor}` : undefined}
      tabIndex={0}
      data-table
      onScroll={(event) => setScrollTop(event.currentTarget.scrollTop)}
      onKeyDown={onKeyDown}
    >
      <div class="table-inner" role="presentation" style={{ minWidth: `${width}px`, "--columns": template }}>
        <div role="rowgroup" class="table-head">
          <div role="row" aria-rowindex={1} class="row head-row">
            {columns.map((column) => <ColumnHead key={column.id} column={column} sort={props.sort} onSort={props.onSort} />)}
          </div>
        </div>
        <div role="rowgroup" class="table-body" style={{ height: `${canvas}px` }}>{rows}</div>
      </div>
      {total === 0 && <div class="table-empty">{props.empty}</div>}
    </div>
  );
}
