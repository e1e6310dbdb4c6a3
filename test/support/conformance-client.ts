/** The program that the conformance suite runs as a client: it lets a gateway that runs already use the suite's server. */
const [, , control = "", server = ""] = process.argv
const { MCP_CONFORMANCE_SCENARIO: scenario = "", MCP_CONFORMANCE_CONTEXT: context = "{}" } = process.env
const reply = await fetch(control, {
  method: "POST",
  body: JSON.stringify({ scenario, server, context: JSON.parse(context) }),
})
process.stdout.write(`${await reply.text()}\n`)
process.exitCode = reply.status === 200 ? 0 : 1
