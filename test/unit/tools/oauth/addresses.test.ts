import { expect, it } from "vitest"
import {
  isIssuer,
  isResourceOf,
  isSameIssuer,
  issuerMetadataUrls,
  resourceMetadataUrls,
  resourceOf,
} from "../../../../src/tools/oauth/addresses.ts"

it("looks for the metadata of a resource at its path first, then at the root", () => {
  expect(resourceMetadataUrls("https://a.example/public/mcp")).toEqual([
    "https://a.example/.well-known/oauth-protected-resource/public/mcp",
    "https://a.example/.well-known/oauth-protected-resource",
  ])
  expect(resourceMetadataUrls("https://a.example/")).toEqual(["https://a.example/.well-known/oauth-protected-resource"])
})

it("looks for the metadata of an issuer in the order of the specification", () => {
  expect(issuerMetadataUrls("https://a.example/tenant1")).toEqual([
    "https://a.example/.well-known/oauth-authorization-server/tenant1",
    "https://a.example/.well-known/openid-configuration/tenant1",
    "https://a.example/tenant1/.well-known/openid-configuration",
  ])
  expect(issuerMetadataUrls("https://a.example")).toEqual([
    "https://a.example/.well-known/oauth-authorization-server",
    "https://a.example/.well-known/openid-configuration",
  ])
})

it.each([
  ["https://a.example/mcp", true],
  ["https://a.example", true],
  ["https://a.example/", true],
  ["https://a.example/mc", false],
  ["https://a.example/mcp/more", false],
  ["https://b.example/mcp", false],
  ["http://a.example/mcp", false],
  ["https://a.example/mcp#x", false],
  ["mcp", false],
])("the resource %s is a server's own or above it: %s", (resource, is) => {
  expect(isResourceOf(resource, "https://a.example/mcp")).toBe(is)
})

it.each([
  ["https://accounts.google.com/", "https://accounts.google.com", true],
  ["https://a.example/x", "https://a.example/x", true],
  ["https://a.example/x/", "https://a.example/x", false],
  ["https://a.example", "https://b.example", false],
  ["https://a.example", "https://a.example.evil.example", false],
])("%s and %s are one issuer: %s", (one, other, is) => {
  expect(isSameIssuer(one, other)).toBe(is)
})

it("names no issuer with a query, a fragment or a password, and no resource with a needless slash", () => {
  expect(
    ["https://a.example/x", "https://a.example/?a", "https://a.example/#", "https://a@b.example", "a"].map(isIssuer),
  ).toEqual([true, false, false, false, false])
  expect(resourceOf("https://a.example/")).toBe("https://a.example")
  expect(resourceOf("https://a.example/mcp/")).toBe("https://a.example/mcp/")
})
