// Requests to the read API: the bearer token, errors as values with what to do, answers kept while they are asked for again.
import { useCallback, useEffect, useState } from "preact/hooks";
import { Store, remembered } from "./store";

export class ApiError extends Error {
  constructor(
    readonly status: number, // 0: no answer at all
    readonly reason: string,
    message: string,
    readonly retryAfter: number | null = null,
  ) {
    super(message);
  }
}

const tokenText = remembered(() => sessionStorage, "kollect.token");
export const token = new Store<string | null>(typeof sessionStorage === "undefined" ? null : tokenText.get());
/** The last 401: the page asks for a token. */
export const refused = new Store<ApiError | null>(null);

/** Kept until the tab is closed. */
export function setToken(text: string | null): void {
  tokenText.set(text);
  answers.clear();
  token.set(text);
  refused.set(null);
}

export type Parameters = Record<string, string | number | undefined | null>;

/** The address of the API that belongs to this page, whatever prefix a proxy adds. */
export function address(path: string, parameters: Parameters = {}): string {
  const url = new URL(`../${path.replace(/^\//, "")}`, new URL("./", document.baseURI));
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== null && value !== "") url.searchParams.set(name, String(value));
  }
  return url.href;
}

export function requestHeaders(accept: string): Record<string, string> {
  const held = token.get();
  return held ? { Accept: accept, Authorization: `Bearer ${held}` } : { Accept: accept };
}

/** The error that a failed answer tells; a proxy in between may answer with a page. */
export async function readError(response: Response): Promise<ApiError> {
  let reason = "";
  let message = "";
  try {
    const body = (await response.json()) as { error?: { reason?: string; message?: string } | string; message?: string };
    if (typeof body.error === "string") {
      reason = body.error;
      message = body.message ?? "";
    } else {
      reason = body.error?.reason ?? "";
      message = body.error?.message ?? "";
    }
  } catch {
    message = "";
  }
  const after = Number(response.headers.get("Retry-After"));
  return new ApiError(response.status, reason || `Http${response.status}`, message || response.statusText, after > 0 ? after : null);
}

export async function request(url: string, accept: string, signal?: AbortSignal): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, { headers: requestHeaders(accept), signal: signal ?? null, credentials: "same-origin" });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError(0, "NoAnswer", "The server does not answer.");
  }
  if (response.ok) return response;
  const error = await readError(response);
  if (error.status === 401) refused.set(error);
  throw error;
}

async function getUrl<T>(url: string, signal?: AbortSignal): Promise<T> {
  const response = await request(url, "application/json", signal);
  // oauth2-proxy answers with its login page when the session has run out.
  if (!(response.headers.get("Content-Type") ?? "").includes("json")) {
    throw new ApiError(401, "LoginPage", "A login page came instead of an answer: the session has run out. Load this page again.");
  }
  return (await response.json()) as T;
}

export function get<T>(path: string, parameters: Parameters = {}, signal?: AbortSignal): Promise<T> {
  return getUrl<T>(address(path, parameters), signal);
}

const answers = new Map<string, unknown>();
const kMostAnswers = 100;

function keep(url: string, data: unknown): void {
  answers.delete(url);
  answers.set(url, data);
  for (const oldest of answers.keys()) {
    if (answers.size <= kMostAnswers) break;
    answers.delete(oldest);
  }
}

export interface Data<T> {
  data: T | undefined;
  error: ApiError | undefined;
  loading: boolean;
  reload(): void;
}

/**
 * An answer of the API. What was known before is shown until the new one is here. `path` null: nothing is asked.
 * `every`: asked again after so many milliseconds while the page is visible.
 */
export function useData<T>(path: string | null, parameters: Parameters = {}, every = 0): Data<T> {
  const url = path === null ? null : address(path, parameters);
  const [state, setState] = useState<{ url: string | null; data?: T; error?: ApiError | undefined; loading: boolean }>({
    url: null,
    loading: true,
  });
  const [turn, setTurn] = useState(0);
  const reload = useCallback(() => setTurn((n) => n + 1), []);

  useEffect(() => token.watch(reload), [reload]);
  useEffect(() => {
    if (url === null) return;
    const abort = new AbortController();
    getUrl<T>(url, abort.signal).then(
      (data) => {
        keep(url, data);
        setState({ url, data, loading: false });
      },
      (error: unknown) => {
        if (!abort.signal.aborted) {
          const told = error instanceof ApiError ? error : new ApiError(0, "Unreadable", String(error));
          setState((before) => ({ ...(before.url === url ? before : { url }), error: told, loading: false }));
        }
      },
    );
    return () => abort.abort();
  }, [url, turn]);
  useEffect(() => {
    if (!every || url === null) return;
    const timer = setInterval(() => document.visibilityState === "visible" && reload(), every);
    return () => clearInterval(timer);
  }, [every, url, reload]);

  if (url === null) return { data: undefined, error: undefined, loading: false, reload };
  if (state.url === url) return { data: state.data ?? (answers.get(url) as T | undefined), error: state.error, loading: state.loading, reload };
  return { data: answers.get(url) as T | undefined, error: undefined, loading: true, reload };
}

/** A whole file: by a link where the browser's own request is let in, else read and handed over. */
export async function download(path: string, parameters: Parameters, fileName: string): Promise<void> {
  const link = document.createElement("a");
  link.download = fileName;
  const url = address(path, parameters);
  if (token.get() === null) {
    link.href = url;
    link.click();
    return;
  }
  const response = await request(url, "*/*");
  const held = URL.createObjectURL(await response.blob());
  link.href = held;
  link.click();
  setTimeout(() => URL.revokeObjectURL(held), 60_000);
}
