/** The button that calls a tool, as a caller of the gateway does. */

import { html } from "htm/preact"
import { readObject, shownOutcome, toolCallRequest } from "../../../protocol/mcp/tool-call.ts"
import { send } from "../../api.ts"
import { ActionButton, type Values } from "../../ui/form.ts"
import type { Caller } from "../playground/caller.ts"

interface TryToolProps {
  readonly server: string
  readonly tool: string
  readonly caller: Caller
}

export const TryTool = ({ server, tool, caller }: TryToolProps) => {
  const act = async ({ arguments: given = "" }: Values) => {
    const read = readObject(given)
    if (read === undefined) throw new Error("The arguments are no JSON object")
    const { path, headers, body } = toolCallRequest(server, tool, read)
    const authorization = `Bearer ${await caller.credential()}`
    const reply = await send("POST", path, { headers: { ...headers, authorization }, body })
    const outcome = shownOutcome(await reply.text())
    if (outcome === undefined) throw new Error("The reply is no message of the protocol")
    if ("error" in outcome) throw new Error(outcome.error)
    const { text, isError, cost } = outcome
    return html`<h2>${isError ? `${tool} says that it has failed` : `Result of ${tool}`}</h2>
      <pre class="note wrap" tabindex="0">${text}</pre>
      <p class="soft small">${cost === undefined ? "It is free." : `Billed: ${cost}`}</p>`
  }
  return html`<${ActionButton} name="Try" tone="quiet" title="Call ${tool} of ${server}?" confirm="Call it" explain="It is billed to the caller who is chosen above the table." act=${act} fields=${[
    {
      name: "arguments",
      label: "Arguments, as JSON",
      value: "{}",
      hasLines: true,
      hint: "The command weir tools show --json has their schema.",
    },
  ]} />`
}
