/** Lists with entries that are not as the protocol has them: they spoil neither their own list nor those of other servers. */
import {
  Client as StatelessClient,
  StreamableHTTPClientTransport as StatelessTransport,
} from "@modelcontextprotocol/client"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { afterAll, describe, expect, it } from "vitest"
import { newTestIds, testKey } from "../../../src/testing/gateway.ts"
import { useGateway } from "../../support/gateway.ts"
import { toolCatalogue } from "../../support/tool-catalogue.ts"
import { startToolServer, textResult } from "../../support/tool-server.ts"

const schema = { type: "object" }
const tool = (name: unknown, more: object = {}) => ({ name, inputSchema: schema, ...more })
const strange = await startToolServer({
  isStateless: true,
  tools: { fine: () => textResult("fine"), find: () => textResult("find"), search: () => textResult("search") },
  methods: {
    "tools/list": () => ({
      tools: [
        tool("fine"),
        tool("fine", { description: "Another one of this name" }),
        tool("find"),
        tool("search"),
        tool("lists", { outputSchema: { type: "array" } }),
        tool("__proto__"),
        tool("constructor"),
        tool("title", { title: 7 }),
        tool("described", { description: null }),
        tool("annotated", { annotations: "none" }),
        tool("icons", { icons: [{ src: 1 }] }),
        tool("text", { inputSchema: { type: "string" } }),
        tool("any", { inputSchema: {} }),
        tool("property", { inputSchema: { type: "object", properties: { a: true } } }),
        tool("required", { inputSchema: { type: "object", required: "a" } }),
        tool("execution", { execution: { taskSupport: "never" } }),
        tool("\u202etool"),
        tool(7),
        null,
      ],
    }),
    "prompts/list": () => ({
      prompts: [
        { name: "ask" },
        { name: "ask" },
        { name: "line\nfeed" },
        { name: "arguments", arguments: [{ name: 1 }] },
      ],
    }),
    "resources/list": () => ({
      resources: [
        { uri: "file:///a", name: "A" },
        { uri: "file:///b" },
        { uri: 7, name: "C" },
        { uri: "file:///d", name: "D", annotations: { priority: 2 } },
        { uri: "file:///\u0007", name: "E" },
      ],
    }),
    "resources/templates/list": () => ({
      resourceTemplates: [{ uriTemplate: "file:///{a}", name: "A" }, { name: "B" }],
    }),
  },
})
const good = await startToolServer({ isStateless: true, tools: { good: () => textResult("good") } })
afterAll(() => {
  strange.stop()
  good.stop()
})

const ids = newTestIds()
const gateway = useGateway({
  ids,
  catalogue: (urls) =>
    toolCatalogue(
      urls,
      ids,
      `toolServers:
  - { id: good, url: "${good.url}" }
  - { id: strange, url: "${strange.url}", tools: { rename: { search: find }, describe: { fine: Fine } } }
`,
    ),
})
const headers = { authorization: `Bearer ${ids.key}~${testKey}` }
const url = () => new URL(`${gateway().baseUrl}/mcp`)
const first = async () => {
  const client = new Client({ name: "test", version: "1" }, { capabilities: {} })
  await client.connect(new StreamableHTTPClientTransport(url(), { requestInit: { headers } }))
  return client
}
const second = async () => {
  const client = new StatelessClient({ name: "test", version: "1" }, { versionNegotiation: { mode: "auto" } })
  await client.connect(new StatelessTransport(url(), { requestInit: { headers } }))
  return client
}

describe.each([
  ["of the first generation", first],
  ["of the second generation", second],
] as const)("a client %s", (_, connect) => {
  it("reads the lists of all servers, without what it could not read", async () => {
    const client = await connect()
    const { tools } = await client.listTools()
    const names = ["constructor", "find", "fine", "lists"].map((name) => `strange__${name}`)
    expect(tools.map(({ name }) => name)).toEqual(["good__good", "strange____proto__", ...names])
    expect(tools.find(({ name }) => name === "strange__fine")?.description).toBe("Fine")
    expect((await client.listPrompts()).prompts.map(({ name }) => name)).toEqual(["strange__ask"])
    expect((await client.listResources()).resources.map(({ uri }) => uri)).toEqual(["strange+file:///a"])
    const { resourceTemplates } = await client.listResourceTemplates()
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual(["strange+file:///{a}"])
    await client.close()
  })

  it("gets the tool that has a name by the catalogue, and not one that has it by itself", async () => {
    const client = await connect()
    expect(await client.callTool({ name: "strange__find", arguments: {} })).toMatchObject({
      content: [{ text: "search" }],
    })
    await client.close()
  })
})
