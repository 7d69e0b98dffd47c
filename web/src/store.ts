// Values that several parts of the page watch.
import { useEffect, useState } from "preact/hooks";

export class Store<T> {
  private listeners = new Set<() => void>();
  constructor(private current: T) {}

  get(): T {
    return this.current;
  }

  set(next: T): void {
    if (Object.is(next, this.current)) return;
    this.current = next;
    for (const listener of [...this.listeners]) listener();
  }

  /** Returns what ends it. */
  watch(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}

/** The value of a store; the component is drawn again when it changes. */
export function useStore<T>(store: Store<T>): T {
  const [, draw] = useState(0);
  useEffect(() => {
    const ended = store.watch(() => draw((n) => n + 1));
    draw((n) => n + 1); // it may have changed between the first drawing and now
    return ended;
  }, [store]);
  return store.get();
}

/** A text of localStorage or sessionStorage; both may be forbidden, then nothing is remembered. */
export function remembered(storage: () => Storage, key: string): { get(): string | null; set(value: string | null): void } {
  return {
    get() {
      try {
        return storage().getItem(key);
      } catch {
        return null;
      }
    },
    set(value) {
      try {
        if (value === null) storage().removeItem(key);
        else storage().setItem(key, value);
      } catch {
        // A page without storage works, it only forgets.
      }
    },
  };
}
