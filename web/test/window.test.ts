import assert from "node:assert/strict";
import { test } from "node:test";
import { kMaxCanvas, reveal, sight } from "../src/window";

test("a short list is drawn whole", () => {
  assert.deepEqual(sight(0, 600, 5, 34), { canvas: 170, first: 0, last: 4, top: 0 });
  assert.equal(sight(0, 600, 0, 34).last, -1);
});

test("of 100,000 rows those in sight and a few beside them are drawn", () => {
  const { canvas, first, last, top } = sight(1_700_000, 600, 100_000, 34);
  assert.equal(canvas, 3_400_000);
  assert.equal(first, 50_000 - 6);
  assert.equal(last, Math.ceil((1_700_000 + 600) / 34) + 6);
  assert.equal(top, first * 34);
});

test("a list taller than browsers draw ends at its last row", () => {
  const total = 2_000_000;
  const end = sight(kMaxCanvas - 600, 600, total, 34);
  assert.equal(end.canvas, kMaxCanvas);
  assert.equal(end.last, total - 1);
  // The last row's lower edge is the lower edge of the view.
  assert.equal(Math.round(end.top + (total - end.first) * 34), kMaxCanvas);
  const start = sight(0, 600, total, 34);
  assert.equal(start.first, 0);
  assert.equal(start.top, 0);
});

test("a revealed row is in sight, at any length", () => {
  for (const total of [10, 1_000, 100_000, 3_000_000]) {
    for (const index of [0, 1, Math.floor(total / 2), total - 1]) {
      const scrolled = reveal(index, 0, 600, total, 34);
      const { first, last } = sight(scrolled, 600, total, 34, 0);
      assert.ok(first <= index && index <= last, `row ${index} of ${total}: ${first} to ${last}`);
    }
  }
});

test("what is in sight does not move", () => {
  assert.equal(reveal(3, 40, 600, 1_000, 34), 40);
});
