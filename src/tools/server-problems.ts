/** The problems of a declared server of tools that the form of its fields does not show. Pure. */
import { parseAmount } from "../money/amount.ts"
import type { ToolPrice, ToolServer } from "../protocol/catalogue/tool-server.ts"
import { isWithinMoney, mostMoney } from "../protocol/values/bounds.ts"
import { costOfTool, readToolPrice } from "./tool-price.ts"

interface Problem {
  readonly path: ReadonlyArray<string>
  readonly message: string
}

export const serverProblems = ({ url, replicas, command, openapi, oauth, credential, tools, price }: ToolServer) => {
  const problems: Array<Problem> = []
  const refuse = (message: string, ...path: ReadonlyArray<string>) => problems.push({ path, message })
  if (replicas !== undefined && url === undefined) refuse("is for servers with a url", "replicas")
  if (oauth !== undefined && credential !== undefined) refuse("is not needed: the server has a credential", "oauth")
  if (oauth !== undefined && url === undefined) refuse("is for servers with a url", "oauth")
  if (oauth?.clientSecret !== undefined && oauth.clientId === undefined)
    refuse("needs clientId", "oauth", "clientSecret")
  // A server could otherwise send the secret to an authorisation server of its own choice.
  if (oauth?.clientId !== undefined && oauth.issuer === undefined) refuse("needs issuer", "oauth", "clientId")
  if (command !== undefined && credential !== undefined) {
    refuse("a process gets its secrets in its environment", "credential")
  }
  if (openapi !== undefined && !/^(?:https?:\/\/|\/)/.test(openapi.document)) {
    refuse("is an address, or the whole path of a file", "openapi", "document")
  }
  problems.push(...priceProblems(price, "price"))
  for (const [tool, each] of Object.entries(tools?.price ?? {})) {
    problems.push(...priceProblems(each, "tools", "price", tool))
  }
  const names = Object.values(tools?.rename ?? {})
  const twice = names.find((name, at) => names.indexOf(name) !== at)
  if (twice !== undefined) refuse(`gives two tools the name ${twice}`, "tools", "rename")
  return problems
}

const priceProblems = (price: ToolPrice | undefined, ...path: ReadonlyArray<string>): ReadonlyArray<Problem> => {
  const read = readToolPrice(price)
  if (price === undefined || price === "free" || read === undefined) return []
  const problems: Array<Problem> = []
  const amounts = { calls: price.calls, hold: price.hold }
  for (const [name, amount] of Object.entries(amounts)) {
    if (amount !== undefined && !isWithinMoney(amount))
      problems.push({ path: [...path, name], message: `is more than ${mostMoney}` })
  }
  for (const [unit, { price: amount }] of Object.entries(price.units ?? {})) {
    if (!isWithinMoney(amount)) problems.push({ path: [...path, "units", unit], message: `is more than ${mostMoney}` })
  }
  if (price.calls === undefined && read.units.size === 0) {
    problems.push({ path, message: "has no price: say free if calls cost nothing" })
  }
  if (read.units.size > 0 && price.hold === undefined) {
    problems.push({ path: [...path, "hold"], message: "is missing: the most that a call costs" })
  }
  if ((parseAmount(price.hold ?? "") ?? read.hold) < costOfTool(read, new Map())) {
    problems.push({ path: [...path, "hold"], message: "is less than the price of a call" })
  }
  return problems
}
