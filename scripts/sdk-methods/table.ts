/** Calls every public method of the SDKs at a gateway. */

import { setTimeout as sleep } from "node:timers/promises"
import { type Clients, clientsAt, type Sdk, sdks } from "./clients.ts"
import { isCounted, isOfAccount } from "./counted.ts"
import type { CalledGateway } from "./gateway.ts"
import { genericArguments } from "./generic-arguments.ts"
import { type Called, type Outcome, outcomeOf } from "./outcome.ts"
import { type Recorder, startRecorder } from "./recorder.ts"
import { usesOf } from "./uses.ts"
import { methodsOf, type SdkMethod } from "./walk.ts"

export interface Row {
  /** The method's place and name in its client. */
  readonly id: string
  /** The method and path of its request, below the base of its API. */
  readonly route: string
  readonly outcome: Outcome
}

export interface SdkTable {
  readonly sdk: Sdk
  readonly rows: ReadonlyArray<Row>
  /** The methods that manage the vendor's own account. */
  readonly ofAccount: ReadonlyArray<Row>
}

/** The time that a call may take. */
const callMs = 20_000

export const makeTables = async (gateway: CalledGateway): Promise<ReadonlyArray<SdkTable>> => {
  const routes = await startRecorder()
  const calls = await startRecorder(gateway.url)
  try {
    const bench = new Bench(routes, calls, gateway)
    const tables: Array<SdkTable> = []
    for (const sdk of sdks) tables.push(await bench.tableOf(sdk))
    return tables
  } finally {
    routes.close()
    calls.close()
  }
}

class Bench {
  readonly #routes: Recorder
  readonly #calls: Recorder
  readonly #recording: Clients
  readonly #calling: Clients
  readonly #uses: ReturnType<typeof usesOf>
  readonly #isDeclared: CalledGateway["isDeclared"]
  readonly #own: CalledGateway["own"]

  constructor(routes: Recorder, calls: Recorder, { apiKey, folder, isDeclared, own }: CalledGateway) {
    this.#isDeclared = isDeclared
    this.#own = own
    this.#routes = routes
    this.#calls = calls
    this.#recording = clientsAt(routes.url, apiKey)
    this.#calling = clientsAt(calls.url, apiKey)
    this.#uses = usesOf(this.#calling, folder)
  }

  async tableOf(sdk: Sdk): Promise<SdkTable> {
    // Methods that one client does not call are called by the next one.
    const clients = [sdk.client, ...(sdk.cloudClient === undefined ? [] : [sdk.cloudClient])].map((name) => ({
      recording: methodsById(this.#recording[name], sdk),
      calling: methodsById(this.#calling[name], sdk),
    }))
    const ids = [...(clients[0]?.calling.keys() ?? [])].filter(isCounted)
    const rowsOf = async (own: ReadonlyArray<string>) => {
      const rows: Array<Row> = []
      for (const id of own) rows.push(await this.#rowOf(sdk, id, clients))
      return rows
    }
    const isOwn = (id: string) => !isOfAccount(id)
    return { sdk, rows: await rowsOf(ids.filter(isOwn)), ofAccount: await rowsOf(ids.filter(isOfAccount)) }
  }

  async #rowOf(sdk: Sdk, id: string, clients: ReadonlyArray<ClientMethods>): Promise<Row> {
    const uses = this.#uses[sdk.name]
    const prepare = uses[id] ?? uses[id.replace(/^beta\./, "")]
    let called: Called = { replies: [], failure: undefined }
    let route: string | undefined
    for (const { recording, calling } of clients) {
      const [recorded, method] = [recording.get(id), calling.get(id)]
      if (recorded === undefined || method === undefined) break
      const generic = genericArguments(sdk.name, id, recorded)
      route = routeIn(await call(this.#routes, recorded, generic))
      // Its objects were made before.
      const [asked = "", path = ""] = decodeURIComponent(route ?? "").split(" ")
      if (prepare === undefined && this.#isDeclared(asked, path)) await this.#own(sdk.client, idsIn(path))
      // Where the objects that a method needs cannot be made, its own answer says the reason.
      const prepared = await prepare?.().catch(() => undefined)
      called = await call(this.#calls, method, prepared ?? generic)
      if (called.replies.length > 0) break
    }
    return { id, route: below(sdk, route ?? routeIn(called) ?? ""), outcome: outcomeOf(called, this.#isDeclared) }
  }
}

/** The ids in a route, alone and as the names of resources. */
const idsIn = (route: string): ReadonlyArray<string> =>
  [...decodeURIComponent(route).matchAll(/(\w+\/)?(\{\w+\})/g)].flatMap(([name, , id = ""]) => [id, name])

/** The methods of a client by their ids, at the recorder alone and at the gateway. */
interface ClientMethods {
  readonly recording: ReadonlyMap<string, SdkMethod>
  readonly calling: ReadonlyMap<string, SdkMethod>
}

const methodsById = (client: object, { hasOwnCalls }: Sdk): ReadonlyMap<string, SdkMethod> =>
  new Map(methodsOf(client, hasOwnCalls).map((method) => [idOf(method), method]))

const idOf = ({ resource, name }: SdkMethod): string => (resource === "" ? name : `${resource}.${name}`)

const below = ({ base }: Sdk, route: string): string => decodeURIComponent(route).replace(` ${base}/`, " /")

const routeIn = ({ replies }: Called): string | undefined => replies.map(({ method, path }) => `${method} ${path}`)[0]

const call = async (recorder: Recorder, method: SdkMethod, values: ReadonlyArray<unknown>): Promise<Called> => {
  recorder.take()
  const end = new AbortController()
  const late = sleep(callMs, "the call did not end in time", { signal: end.signal }).catch(() => undefined)
  const refused = recorder.refusedSocket().then(() => "the socket was refused")
  const failure = await Promise.race([failureOf(() => read(method.call(values))), refused, late])
  end.abort()
  return { replies: recorder.take(), failure }
}

const failureOf = async (run: () => Promise<void>): Promise<string | undefined> => {
  try {
    await run()
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** Reads a reply to its end: a stream by its events, a file by its bytes. A list is read as its first page. */
const read = async (pending: unknown): Promise<void> => {
  const value: unknown = await pending
  if (typeof value !== "object" || value === null) return
  if (value instanceof Response) await value.arrayBuffer()
  else if (isStream(value)) for await (const _ of value);
  else if ("close" in value && typeof value.close === "function") Reflect.apply(value.close, value, [])
}

/** Pages of lists can be read in this way too, but not without further requests. */
const isStream = (value: object): value is AsyncIterable<unknown> =>
  Symbol.asyncIterator in value && !["hasNextPage", "nextPageInternal", "getNextPage"].some((name) => name in value)
