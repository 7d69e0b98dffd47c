// Where the reader is: a page below /ui/ and its query. Pages are one level deep, so that relative addresses of the API
// hold on each of them, also behind a proxy that adds a prefix.
import { Store, useStore } from "./store";

export type Query = Record<string, string>;
export interface Place {
  page: string;
  query: Query;
}

export function readPlace(path: string, search: string): Place {
  const page = path.slice(path.lastIndexOf("/") + 1);
  const query: Query = {};
  new URLSearchParams(search).forEach((value, name) => {
    if (value !== "") query[name] = value;
  });
  return { page, query };
}

/** A relative address; empty values are left out, names stand in their own order. */
export function href(page: string, query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const name of Object.keys(query).sort()) {
    const value = query[name];
    if (value) parameters.set(name, value);
  }
  const text = parameters.toString();
  return (page || "./") + (text ? `?${text}` : "");
}

const here = () => readPlace(location.pathname, location.search);
let place: Store<Place> | undefined;

function places(): Store<Place> {
  if (!place) {
    const made = new Store(here());
    addEventListener("popstate", () => made.set(here()));
    place = made;
  }
  return place;
}

export function usePlace(): Place {
  return useStore(places());
}

export function currentPlace(): Place {
  return places().get();
}

/** `replace`: what is typed letter by letter leaves no trail in the browser's history. */
export function go(page: string, query: Query = {}, replace = false): void {
  const address = href(page, query);
  if (replace) history.replaceState(null, "", address);
  else {
    history.pushState(null, "", address);
    if (page !== places().get().page) scrollTo(0, 0);
  }
  places().set(here());
}

/** Links of our own are followed without loading the page anew; keys that open tabs keep their meaning. */
export function followLinks(): void {
  addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = (event.target as Element | null)?.closest?.("a");
    if (!link || link.target || link.hasAttribute("download")) return;
    const folder = new URL("./", document.baseURI);
    if (link.origin !== folder.origin || !link.pathname.startsWith(folder.pathname) || link.hash) return;
    event.preventDefault();
    const { page, query } = readPlace(link.pathname, link.search);
    go(page, query);
  });
}
