/** The public methods of a client, found by walking its resources at run time. */

export interface SdkMethod {
  /** The resource's place in the client, such as `chat.completions`; empty for the client itself. */
  readonly resource: string
  readonly name: string
  /** The method as the SDK wrote it, from which the names of its parameters are read. */
  readonly source: string
  readonly call: (parameters: ReadonlyArray<unknown>) => unknown
}

/** Members of clients and resources that are no resources of the API: connections, credentials, loggers. */
const noResources = new Set(["client", "apiClient", "parentClient", "httpClient", "auth", "webSocketFactory", "logger"])

/** Methods of resources that reach no API: they make a client for it, check a signature, or prepare a request. */
const noCalls =
  /^_|^with|Internal$|^(getClient|resolveClient|unwrap|parseUnverified|verifySignature|isCallableTool|constructor)$/

/**
 * The methods of a client's resources, those of nested ones too.
 *
 * @param hasOwnCalls whether methods of the client itself call the API, as Cohere's do
 */
export const methodsOf = (client: object, hasOwnCalls: boolean): ReadonlyArray<SdkMethod> => {
  const seen = new Set<object>()
  const walk = (resource: object, place: string): ReadonlyArray<SdkMethod> => {
    if (seen.has(resource)) return []
    seen.add(resource)
    const names = namesIn(resource)
    const own = place === "" && !hasOwnCalls ? [] : names.flatMap((name) => methodAt(resource, place, name))
    const nested = names.flatMap((name) => {
      const member = noResources.has(name) ? undefined : memberOf(resource, name)
      return isResource(member) ? walk(member, place === "" ? name : `${place}.${name}`) : []
    })
    return [...own, ...nested]
  }
  return walk(client, "")
}

const methodAt = (resource: object, place: string, name: string): ReadonlyArray<SdkMethod> => {
  const member = noCalls.test(name) ? undefined : memberOf(resource, name)
  if (typeof member !== "function" || /^[A-Z]/.test(name)) return []
  const call = (parameters: ReadonlyArray<unknown>): unknown => Reflect.apply(member, resource, parameters)
  return [{ resource: place, name, source: Function.prototype.toString.call(member), call }]
}

/** Names of an object's own members and of those of its classes, each once. */
const namesIn = (resource: object): ReadonlyArray<string> => {
  const names = new Set(Object.keys(resource))
  for (let type = Reflect.getPrototypeOf(resource); type !== null; type = Reflect.getPrototypeOf(type)) {
    if (type !== Object.prototype) for (const name of Object.getOwnPropertyNames(type)) names.add(name)
  }
  return [...names].filter((name) => !name.startsWith("_"))
}

const memberOf = (resource: object, name: string): unknown => Reflect.get(resource, name)

/** An instance of a class of the SDK; lists, maps and plain objects are values. */
const isResource = (member: unknown): member is object => {
  if (typeof member !== "object" || member === null) return false
  const type: unknown = Reflect.get(member, "constructor")
  return typeof type === "function" && ![Object, Array, Map, Set, Headers, URL].some((plain) => plain === type)
}
