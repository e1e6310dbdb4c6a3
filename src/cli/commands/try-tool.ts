/** `weir tools try`: calls a tool as a caller does, with its key, and is billed like it. */
import { Console, Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { HttpClient, HttpClientRequest } from "effect/http"
import { credentialHeaders } from "../../client/credentials.ts"
import { readObject, shownOutcome, toolCallRequest } from "../../protocol/mcp/tool-call.ts"
import { caller, credentialsOf } from "../caller.ts"
import { failed, json, print, refused } from "../target.ts"

export const tryTool = Command.make(
  "try",
  {
    server: Argument.String("server").pipe(Argument.withDescription("The server's id")),
    tool: Argument.String("tool").pipe(Argument.withDescription("The tool's name at the server, without the server's")),
    given: Flag.String("arguments").pipe(
      Flag.withDescription("The arguments, as a JSON object"),
      Flag.withDefault("{}"),
    ),
    ...caller,
    json,
  },
  Effect.fn(function* ({ server, tool, given, url, json, ...flags }) {
    const read = readObject(given)
    if (read === undefined) return yield* failed("--arguments is no JSON object")
    const credentials = yield* credentialsOf(flags)
    const { path, headers, body } = toolCallRequest(server, tool, read)
    const bytes = new TextEncoder().encode(JSON.stringify(body))
    const own = yield* Effect.promise(() =>
      credentialHeaders(credentials, { method: "POST", target: `/${path}`, body: bytes }),
    )
    const request = HttpClientRequest.post(`${url.replace(/\/$/, "")}/${path}`, {
      headers: { ...headers, ...own },
    }).pipe(HttpClientRequest.bodyUint8Array(bytes, "application/json"))
    const text = yield* HttpClient.execute(request).pipe(
      Effect.flatMap((reply) => reply.text),
      refused(url),
    )
    const outcome = shownOutcome(text)
    if (outcome === undefined) return yield* failed(`The reply of ${url} is no message of the protocol`)
    if ("error" in outcome) return yield* failed(outcome.error)
    yield* print({ json }, outcome.result, () => printable(outcome.text))
    if (outcome.cost !== undefined && !json) yield* Console.error(`Cost: ${outcome.cost}`)
    if (outcome.isError) yield* failed("The tool says that it has failed")
  }),
).pipe(
  Command.withDescription("Call a tool with a key or token, as its clients do. The call is billed"),
  Command.withExamples([{ command: `weir tools try weather forecast --arguments '{"city": "Basel"}'` }]),
)

/** A server's text must not begin a terminal's commands. */
const printable = (text: string): string => text.replace(/(?![\n\t])\p{C}/gu, "\ufffd")
