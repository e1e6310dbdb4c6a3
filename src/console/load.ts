/** Loading the data of a page: once, periodically, or page by page. Shown data stays until newer data is there. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks"
import { ApiError } from "./api.ts"

export interface Loaded<A> {
  readonly data: A | undefined
  readonly error: ApiError | undefined
  readonly isLoading: boolean
  readonly reload: () => void
}

export const asApiError = (error: unknown): ApiError =>
  error instanceof ApiError
    ? error
    : new ApiError(0, "unexpected", error instanceof Error ? error.message : String(error))

/**
 * @param key names the data; they are loaded again when the key changes
 * @param everyMs the interval at which they are loaded again; never if absent, and not while the page is hidden
 */
export const useLoad = <A>(key: string, load: (signal: AbortSignal) => Promise<A>, everyMs?: number): Loaded<A> => {
  const [state, setState] = useState<{ key: string; data?: A; error?: ApiError; isLoading: boolean }>({
    key,
    isLoading: true,
  })
  const [turn, setTurn] = useState(0)
  const latest = useRef(load)
  latest.current = load
  useEffect(() => {
    const abort = new AbortController()
    const run = async () => {
      setState((known) => ({ ...(known.key === key ? known : { key }), isLoading: true }))
      try {
        const data = await latest.current(abort.signal)
        if (!abort.signal.aborted) setState({ key, data, isLoading: false })
      } catch (error) {
        if (abort.signal.aborted) return
        setState((known) => ({ ...known, key, error: asApiError(error), isLoading: false }))
      }
    }
    run()
    const again = everyMs === undefined ? undefined : setInterval(() => document.hidden || run(), everyMs)
    return () => {
      abort.abort()
      clearInterval(again)
    }
  }, [key, turn, everyMs])
  const reload = useCallback(() => setTurn((known) => known + 1), [])
  return { data: state.data, error: state.error, isLoading: state.isLoading, reload }
}

export interface Page<Row> {
  readonly data: ReadonlyArray<Row>
  readonly nextCursor: string | null
}

export interface Pages<Row> extends Loaded<ReadonlyArray<Row>> {
  /** Loads the next page; undefined on the last one. */
  readonly more: (() => void) | undefined
}

/** A list with a cursor. @param key identifies the list, which begins again when the key changes */
export const usePages = <Row>(
  key: string,
  load: (cursor: string | undefined, signal?: AbortSignal) => Promise<Page<Row>>,
): Pages<Row> => {
  const first = useLoad(key, (signal) => load(undefined, signal))
  const [rest, setRest] = useState<{ of: Page<Row> | undefined; rows: ReadonlyArray<Row>; cursor: string | null }>({
    of: undefined,
    rows: [],
    cursor: null,
  })
  const [error, setError] = useState<ApiError>()
  const [isLoadingMore, setLoadingMore] = useState(false)
  const isSame = rest.of !== undefined && rest.of === first.data
  const rows = isSame ? rest.rows : []
  const cursor = isSame ? rest.cursor : (first.data?.nextCursor ?? null)
  const more = async () => {
    setLoadingMore(true)
    setError(undefined)
    try {
      const page = await load(cursor ?? undefined)
      setRest({ of: first.data, rows: [...rows, ...page.data], cursor: page.nextCursor })
    } catch (failure) {
      setError(asApiError(failure))
    }
    setLoadingMore(false)
  }
  return {
    ...first,
    error: first.error ?? error,
    isLoading: first.isLoading || isLoadingMore,
    data: first.data && [...first.data.data, ...rows],
    more: cursor === null ? undefined : more,
  }
}

/** An action of a button or a form: whether it runs, and its error. */
export const useAction = <Args extends ReadonlyArray<unknown>>(act: (...args: Args) => Promise<void>) => {
  const [isRunning, setRunning] = useState(false)
  const [error, setError] = useState<ApiError>()
  const run = async (...args: Args) => {
    setRunning(true)
    setError(undefined)
    try {
      await act(...args)
    } catch (failure) {
      setError(asApiError(failure))
    }
    setRunning(false)
  }
  return { run, isRunning, error }
}
