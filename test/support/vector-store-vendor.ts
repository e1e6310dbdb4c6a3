/** A strict twin of a vendor that has vector stores, jobs and odd replies, all in one account. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

interface Asked {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage["headers"]
  readonly body: string
}

export interface VectorStoreVendor {
  readonly url: string
  readonly asked: Array<Asked>
  /** Replies that a path gets instead. */
  readonly odd: Map<string, (request: Asked, response: ServerResponse) => void>
  readonly stop: () => Promise<void>
}

export const vendorKey = "vendor-credential"

const json = (response: ServerResponse, status: number, body: object, headers: Record<string, string> = {}) =>
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body))

export const startVectorStoreVendor = async (): Promise<VectorStoreVendor> => {
  const stores = new Map<string, { id: string; object: "vector_store"; name: string; files: Set<string> }>()
  const asked: Array<Asked> = []
  const odd: VectorStoreVendor["odd"] = new Map()
  const unknown = (response: ServerResponse, id: string) =>
    json(response, 404, { error: { message: `No vector store found with id '${id}' (account acct_secret)` } })

  const answer = (request: Asked, response: ServerResponse) => {
    const [path = ""] = request.url.split("?")
    const other = odd.get(path)
    if (other !== undefined) return other(request, response)
    if (request.headers.authorization !== `Bearer ${vendorKey}`) {
      return json(response, 401, { error: { message: "Incorrect API key", code: "invalid_api_key" } })
    }
    const [, , root, id, below] = path.split("/")
    if (root !== "vector_stores") return json(response, 404, { error: { message: `Unknown request URL: ${path}` } })
    const view = ({ files, ...store }: { files: Set<string>; id: string }) => ({
      ...store,
      file_counts: { total: files.size },
    })
    if (id === undefined) {
      if (request.method === "POST") {
        const store = {
          id: `vs_${crypto.randomUUID().replaceAll("-", "")}`,
          object: "vector_store" as const,
          name: JSON.parse(request.body).name ?? "",
          files: new Set<string>(),
        }
        stores.set(store.id, store)
        return json(response, 200, view(store))
      }
      const data = [...stores.values()].map(view)
      return json(response, 200, {
        object: "list",
        data,
        first_id: data[0]?.id,
        last_id: data.at(-1)?.id,
        has_more: false,
      })
    }
    const store = stores.get(id)
    if (store === undefined) return unknown(response, id)
    if (below === "search") {
      return json(response, 200, {
        object: "vector_store.search_results.page",
        data: [{ file_id: "file-1", score: 0.5 }],
      })
    }
    if (below !== undefined) return json(response, 200, { object: "list", data: [], has_more: false })
    if (request.method === "DELETE") {
      stores.delete(id)
      return json(response, 200, { id, object: "vector_store.deleted", deleted: true })
    }
    return json(response, 200, view(store))
  }

  const server = createServer((message, response) => {
    const chunks: Array<Buffer> = []
    message.on("data", (chunk: Buffer) => chunks.push(chunk))
    message.on("end", () => {
      const request = {
        method: message.method ?? "",
        url: message.url ?? "",
        headers: message.headers,
        body: Buffer.concat(chunks).toString("utf8"),
      }
      asked.push(request)
      answer(request, response)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/v1`,
    asked,
    odd,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
