/** `weir routes`: the routes that the catalogue in force passes through, their prices and places. */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { Effect } from "effect"
import { Command } from "effect/cli"
import { baseOf, handleOfRoute } from "../../pass-through/routes.ts"
import type { PassThrough } from "../../protocol/catalogue/pass-through.ts"
import { table } from "../table.ts"
import { type Operator, operator, print } from "../target.ts"
import { catalogueInForce } from "./models.ts"

const listRoutes = Effect.fnUntraced(function* (target: Operator) {
  const { document, encoded } = yield* catalogueInForce(target)
  yield* print(target, { routes: encoded.passThrough ?? [] }, () =>
    table(
      ["route", "vendor", "methods", "path", "also at", "price", "hold", "owners"],
      (document.passThrough ?? []).map(({ id, vendor, methods, path, mount, price, hold = "", owners = [] }) => [
        handleOfRoute(id),
        vendor,
        methods.join(" "),
        path,
        mount === undefined ? "" : `${baseOf[mount]}${path}`,
        describePrice(price),
        hold,
        owners.join(" "),
      ]),
      "No routes yet. Add them to the catalogue, under passThrough: weir init --pass-through declares known ones",
    ),
  )
})

const describePrice = (price: PassThrough["price"]): string => {
  if (price === "free") return price
  const { currency = "", ...amounts } = price
  return `${currency} ${Object.entries(amounts)
    .map(([unit, amount]) => `${amount} a ${unit}`)
    .join(", ")}`
}

const list = Command.make("list", operator, listRoutes).pipe(
  Command.withDescription("List the routes of the catalogue in force that are passed through"),
)

export const routes = Command.make("routes", operator, listRoutes).pipe(
  Command.withSubcommands([list]),
  Command.provide(NodeHttpClient.layerNodeHttp),
)
