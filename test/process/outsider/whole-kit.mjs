// A program of somebody else that asks a gateway of the packed test kit for all kinds of its answers; prints their statuses.
import { openGateway } from "@weir-gateway/testing"

await using gateway = await openGateway()
const { baseUrl, keyId, key } = gateway
const status = async (path, init) => {
  const response = await fetch(`${baseUrl}${path}`, init)
  await response.arrayBuffer()
  return response.status
}
const blocks = [{ t: "text", v: "river ".repeat(50_000) }]
// It is read by the thread of large requests, and does not fit the model's window.
const exchange = {
  method: "POST",
  headers: { "content-type": "application/json", "x-svc-key-id": keyId, "x-svc-key": key },
  body: JSON.stringify({ model: "main", thread: [{ role: "user", blocks }] }),
}
const statuses = {
  guide: await status("/docs"),
  console: await status("/console"),
  openapi: await status("/openapi.json"),
  exchange: await status("/t1/exchange", exchange),
}
console.log(JSON.stringify(statuses))
