/** Handlers by their paths, for requests whose bodies say all, and for those whose paths say a part of it. */
import type { SaidByPath } from "../../../dialects/client/said-by-path.ts"
import type { DirectHandler } from "../../hot-routes.ts"

/** Makes the handler of a request whose path says fields. */
type MakeHandler = (said?: SaidByPath) => DirectHandler

/** @param routes a handler that is made without fields is made once */
export const handlersAt = (routes: ReadonlyArray<readonly [path: string, make: MakeHandler]>) => {
  const makers = new Map(routes)
  const made = new Map(routes.map(([path, make]) => [path, make()]))
  return (path: string, said?: SaidByPath): DirectHandler | undefined =>
    said === undefined ? made.get(path) : makers.get(path)?.(said)
}
