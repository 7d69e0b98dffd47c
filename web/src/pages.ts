// Rows of a long answer, fetched page by page as they come into sight.

export interface Page<T> {
  items: T[];
  total: number;
  /** There are so many and perhaps more. */
  atLeast?: boolean | undefined;
}

export interface RowPagesOptions<T> {
  fetch(offset: number, limit: number, signal: AbortSignal): Promise<Page<T>>;
  onChange(): void;
  onError(error: unknown): void;
  pageSize?: number;
  /** Pages that are held; those farthest from what is in sight go first. */
  keep?: number;
}

/** One table's rows. `end()` when the table goes or its filters change. */
export class RowPages<T> {
  total = 0;
  atLeast = false; // there may be more than `total`: they come into sight as one goes on
  known = false; // the first answer is here
  private pages = new Map<number, { items: T[]; generation: number }>();
  private running = new Map<number, AbortController>();
  private generation = 0;
  private counted = -1; // the generation of `total`
  private first = 0;
  private last = 0;
  private ended = false;
  readonly pageSize: number;

  constructor(private options: RowPagesOptions<T>) {
    this.pageSize = options.pageSize ?? 100;
  }

  row(index: number): T | undefined {
    return this.pages.get(Math.floor(index / this.pageSize))?.items[index % this.pageSize];
  }

  /** Says which rows are in sight; asks for what is missing or old there, and no more for what has left it. */
  want(first: number, last: number): void {
    this.first = Math.floor(first / this.pageSize);
    this.last = Math.floor(Math.max(first, last) / this.pageSize);
    for (const [page, abort] of this.running) {
      if (page < this.first || page > this.last) {
        abort.abort();
        this.running.delete(page);
      }
    }
    for (let page = this.first; page <= this.last; ++page) {
      if (this.known && page * this.pageSize >= this.total && page > 0) break;
      if (this.pages.get(page)?.generation !== this.generation && !this.running.has(page)) this.load(page);
    }
  }

  /** The rows may have changed: what is in sight is read anew and shown as it is until then. */
  refresh(): void {
    ++this.generation;
    for (const abort of this.running.values()) abort.abort();
    this.running.clear();
    for (const page of [...this.pages.keys()]) {
      if (page < this.first || page > this.last) this.pages.delete(page);
    }
    this.want(this.first * this.pageSize, this.last * this.pageSize);
  }

  end(): void {
    this.ended = true;
    for (const abort of this.running.values()) abort.abort();
    this.running.clear();
  }

  private load(page: number): void {
    const abort = new AbortController();
    const generation = this.generation;
    this.running.set(page, abort);
    this.options.fetch(page * this.pageSize, this.pageSize, abort.signal).then(
      (answer) => {
        if (abort.signal.aborted || this.ended) return;
        this.running.delete(page);
        this.pages.set(page, { items: answer.items, generation });
        this.count(page, answer, generation);
        this.known = true;
        this.drop();
        this.options.onChange();
      },
      (error: unknown) => {
        if (abort.signal.aborted || this.ended) return;
        this.running.delete(page);
        this.options.onError(error);
      },
    );
  }

  private count(page: number, answer: Page<T>, generation: number): void {
    if (answer.items.length === 0 && page > 0) {
      // A page behind the end has no total of its own.
      this.total = Math.min(this.total, page * this.pageSize);
      this.atLeast = false;
    } else if (!answer.atLeast) {
      this.total = answer.total;
      this.atLeast = false;
    } else if (this.counted !== generation || this.atLeast) {
      // A page further back knows of more; what is known exactly stays.
      this.total = this.counted === generation ? Math.max(this.total, answer.total) : answer.total;
      this.atLeast = true;
    }
    this.counted = generation;
  }

  private drop(): void {
    const keep = this.options.keep ?? 30;
    if (this.pages.size <= keep) return;
    const middle = (this.first + this.last) / 2;
    const far = [...this.pages.keys()].sort((a, b) => Math.abs(b - middle) - Math.abs(a - middle));
    for (const page of far.slice(0, this.pages.size - keep)) this.pages.delete(page);
  }
}
