import assert from "node:assert/strict";
import { test } from "node:test";
import { type Page, RowPages } from "../src/pages";

interface Asked {
  offset: number;
  signal: AbortSignal;
  answer(page: Page<string>): void;
  fail(error: unknown): void;
}

function table(options: { keep?: number } = {}) {
  const asked: Asked[] = [];
  let changes = 0;
  const errors: unknown[] = [];
  const pages = new RowPages<string>({
    fetch: (offset, _limit, signal) => new Promise((answer, fail) => asked.push({ offset, signal, answer, fail })),
    onChange: () => ++changes,
    onError: (error) => errors.push(error),
    pageSize: 10,
    ...options,
  });
  return { pages, asked, errors, changes: () => changes };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));
const rows = (offset: number, total: number, word = "row") => ({
  items: Array.from({ length: Math.max(0, Math.min(10, total - offset)) }, (_, i) => `${word} ${offset + i}`), total,
});

test("only what is in sight is asked for, once", async () => {
  const { pages, asked } = table();
  pages.want(0, 8);
  pages.want(0, 9);
  assert.deepEqual(asked.map((one) => one.offset), [0]);
  asked[0]!.answer(rows(0, 95));
  await settled();
  assert.equal(pages.total, 95);
  assert.equal(pages.row(3), "row 3");
  assert.equal(pages.row(30), undefined);
  pages.want(85, 94);
  assert.deepEqual(asked.map((one) => one.offset), [0, 80, 90]);
});

test("what has left the view is no longer waited for", async () => {
  const { pages, asked } = table();
  pages.want(0, 5);
  asked[0]!.answer(rows(0, 1000));
  await settled();
  pages.want(500, 505);
  pages.want(900, 905);
  assert.equal(asked[1]!.signal.aborted, true);
  asked[1]!.answer(rows(500, 1000));
  await settled();
  assert.equal(pages.row(500), undefined);
});

test("a refresh shows the old rows until the new ones are here", async () => {
  const { pages, asked } = table();
  pages.want(0, 5);
  asked[0]!.answer(rows(0, 20));
  await settled();
  pages.refresh();
  assert.equal(pages.row(0), "row 0");
  asked[1]!.answer(rows(0, 30, "new"));
  await settled();
  assert.equal(pages.row(0), "new 0");
  assert.equal(pages.total, 30);
});

test("an answer from before a refresh does not undo it", async () => {
  const { pages, asked } = table();
  pages.want(0, 5);
  pages.refresh();
  asked[1]!.answer(rows(0, 20, "new"));
  asked[0]!.answer(rows(0, 20, "old"));
  await settled();
  assert.equal(pages.row(0), "new 0");
});

test("a table that has become shorter ends where its rows do", async () => {
  const { pages, asked } = table();
  pages.want(0, 5);
  asked[0]!.answer(rows(0, 40));
  await settled();
  pages.want(30, 35);
  asked[1]!.answer({ items: [], total: 0 });
  await settled();
  assert.equal(pages.total, 30);
});

test("a total that is a lower bound grows as pages further back are read", async () => {
  const { pages, asked } = table();
  const bounded = (offset: number, atLeast: number) => ({ ...rows(offset, 1000), total: atLeast, atLeast: true });
  pages.want(0, 5);
  asked[0]!.answer(bounded(0, 20));
  await settled();
  assert.deepEqual([pages.total, pages.atLeast], [20, true]);
  pages.want(10, 19);
  asked[1]!.answer(bounded(10, 21));
  await settled();
  assert.equal(pages.total, 21);
  pages.want(20, 20);
  asked[2]!.answer(bounded(20, 31));
  await settled();
  pages.refresh(); // fewer may be there now
  asked[3]!.answer(bounded(20, 31));
  await settled();
  pages.want(0, 5);
  asked[4]!.answer(bounded(0, 20)); // a page in front knows of fewer
  await settled();
  assert.deepEqual([pages.total, pages.atLeast], [31, true]);
  pages.want(30, 30);
  asked[5]!.answer(rows(30, 33));
  await settled();
  assert.deepEqual([pages.total, pages.atLeast], [33, false]);
  pages.want(10, 19);
  asked[6]!.answer(bounded(10, 21)); // on its way for longer than the exact one
  await settled();
  assert.deepEqual([pages.total, pages.atLeast], [33, false]);
  pages.refresh();
  asked[7]!.answer(bounded(10, 21));
  await settled();
  assert.deepEqual([pages.total, pages.atLeast], [21, true]);
});

test("a failed page is asked for again and hides nothing", async () => {
  const { pages, asked, errors } = table();
  pages.want(0, 5);
  asked[0]!.answer(rows(0, 40));
  await settled();
  pages.refresh();
  asked[1]!.fail(new Error("away"));
  await settled();
  assert.equal(errors.length, 1);
  assert.equal(pages.row(0), "row 0");
  pages.want(0, 5);
  assert.equal(asked.length, 3);
});

test("few pages are held: those nearest to the view", async () => {
  const { pages, asked } = table({ keep: 3 });
  for (let page = 0; page < 6; ++page) {
    pages.want(page * 10, page * 10 + 5);
    asked[page]!.answer(rows(page * 10, 1000));
    await settled();
  }
  assert.equal(pages.row(50), "row 50");
  assert.equal(pages.row(0), undefined);
});
