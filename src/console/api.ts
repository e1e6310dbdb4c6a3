/** Calls of the gateway's routes with this browser's session. Addresses are relative, so that a path prefix holds. */

/** The gateway refused, or did not answer. */
export class ApiError extends Error {
  readonly status: number
  readonly code: string
  readonly requestId: string | undefined
  /** Per path of the request, what is wrong with it. */
  readonly issues: ReadonlyArray<Issue>
  constructor(status: number, code: string, message: string, requestId?: string, issues: ReadonlyArray<Issue> = []) {
    super(message)
    this.status = status
    this.code = code
    this.requestId = requestId
    this.issues = issues
  }
}

export interface Issue {
  readonly path: string
  readonly line?: number
  readonly message: string
}

export type Query = Readonly<Record<string, string | undefined>>

export interface CallOptions {
  readonly query?: Query
  readonly body?: object
  readonly signal?: AbortSignal
  readonly headers?: Readonly<Record<string, string>>
  /** Whether it goes on after its page is gone. */
  readonly keepalive?: boolean
}

/** The gateway's address: the console is one folder below it. */
export const base = new URL("../", document.baseURI)

/** The organisation in which a person acts; undefined for operators. */
let actingIn: string | undefined
export const actIn = (org: string | undefined): void => {
  actingIn = org
}

export const addressOf = (path: string, query: Query = {}): URL => {
  const url = new URL(path, base)
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== "") url.searchParams.set(name, value)
  }
  return url
}

/** Sends a request; fails with {@link ApiError}. */
export const send = async (method: string, path: string, options: CallOptions = {}): Promise<Response> => {
  const { query, body, signal, headers, keepalive = false } = options
  const response = await fetch(addressOf(path, query), {
    method,
    keepalive,
    headers: {
      "x-svc-console": "1",
      ...(actingIn !== undefined && { "x-svc-org": actingIn }),
      ...(body !== undefined && { "content-type": "application/json" }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal !== undefined && { signal }),
  }).catch((error: unknown) => {
    if (signal?.aborted) throw error
    throw new ApiError(0, "unreachable", "The gateway does not answer. It may be restarting.")
  })
  if (!response.ok) throw await errorOf(response)
  return response
}

/** Sends a request and reads the JSON of its reply. The reply's shape is the route's, by the OpenAPI document. */
export const call = async <A>(method: string, path: string, options?: CallOptions): Promise<A> => {
  const response = await send(method, path, options)
  return response.status === 204 ? JSON.parse("null") : response.json()
}

export const get = <A>(path: string, query?: Query, signal?: AbortSignal): Promise<A> =>
  call<A>("GET", path, { ...(query !== undefined && { query }), ...(signal !== undefined && { signal }) })

interface ErrorText {
  readonly code?: string
  readonly message?: string
  readonly requestId?: string
  readonly detail?: { readonly issues?: ReadonlyArray<Issue> }
}

/** The error in an unsuccessful reply. */
export const errorOf = async (response: Response): Promise<ApiError> => {
  const { error }: { readonly error?: ErrorText } = await response.json().catch(() => ({}))
  return errorFrom(response.status, error)
}

/** The error that the gateway reports in a reply or in an event. */
export const errorFrom = (status: number, error: ErrorText = {}): ApiError => {
  const { code = "unknown", message = `The gateway answered ${status}`, requestId, detail } = error
  return new ApiError(status, code, message, requestId, detail?.issues)
}
