/** Documents of OpenAPI with the forms that documents of the world have. */

/** A document of 3.0: references of all kinds, `nullable`, `allOf`, read-only properties, variables of servers. */
export const shop = {
  openapi: "3.0.3",
  info: { title: "Shop", version: "1" },
  servers: [
    {
      url: "{scheme}://shop.example/{version}/",
      variables: { scheme: { default: "https" }, version: { default: "v2" } },
    },
  ],
  paths: {
    "/items": {
      parameters: [{ $ref: "#/components/parameters/Trace" }],
      get: {
        operationId: "items.list",
        summary: "List items",
        description: "Newest first.",
        tags: ["items"],
        parameters: [
          { name: "tags", in: "query", schema: { type: "array", items: { type: "string" } } },
          { name: "ids", in: "query", explode: false, schema: { type: "array", items: { type: "integer" } } },
          { name: "filter", in: "query", style: "deepObject", explode: true, schema: { type: "object" } },
          { name: "page[size]", in: "query", schema: { type: "integer", maximum: 100, exclusiveMaximum: true } },
          { name: "where", in: "query", content: { "application/json": { schema: { type: "object" } } } },
        ],
        responses: {},
      },
      post: {
        operationId: "items.create",
        tags: ["items"],
        requestBody: { $ref: "#/components/requestBodies/Item" },
        responses: {},
      },
    },
    "/items/{id}": {
      parameters: [{ name: "id", in: "path", required: true, schema: { type: "string" } }],
      get: { tags: ["items"], parameters: [{ name: "id", in: "query", schema: { type: "string" } }], responses: {} },
      put: {
        operationId: "items.replace",
        tags: ["admin"],
        requestBody: {
          required: true,
          content: { "application/json": { schema: { $ref: "#/components/schemas/Item" } } },
        },
        responses: {},
      },
      delete: { operationId: "items.delete", deprecated: true, tags: ["admin"], responses: {} },
    },
    "/items/{id}/picture": {
      post: {
        operationId: "items.picture",
        parameters: [{ name: "id", in: "path", required: true, schema: { type: "string" } }],
        requestBody: { content: { "image/png": { schema: { type: "string", format: "binary" } } } },
        responses: {},
      },
    },
    "/imports": {
      post: {
        operationId: "import",
        requestBody: {
          required: true,
          content: {
            "multipart/form-data": {
              schema: {
                type: "object",
                required: ["file"],
                properties: {
                  file: { type: "string", format: "binary", description: "The list" },
                  pictures: { type: "array", items: { type: "string", format: "binary" } },
                  options: { type: "object" },
                  note: { type: "string" },
                },
              },
            },
          },
        },
        responses: {},
      },
    },
    "/archives": {
      post: { operationId: "archive", requestBody: { content: { "application/x-own": {} } }, responses: {} },
    },
    "/searches/{version}": {
      post: {
        operationId: "search",
        parameters: [{ name: "version", in: "path", required: true, schema: { type: "string", default: "v1" } }],
        requestBody: {
          content: {
            "application/x-www-form-urlencoded": {
              schema: {
                type: "object",
                required: ["criteria"],
                properties: {
                  criteria: { type: "string" },
                  rows: { type: "integer" },
                  sort: { type: "object" },
                  fields: { type: "array" },
                },
              },
              encoding: { sort: { style: "deepObject", explode: true } },
            },
          },
        },
        responses: {},
      },
    },
  },
  components: {
    parameters: { Trace: { name: "X-Trace", in: "header", schema: { type: "string" } } },
    requestBodies: {
      Item: {
        required: true,
        content: {
          "application/json": {
            schema: {
              allOf: [
                { $ref: "#/components/schemas/NewItem" },
                { type: "object", properties: { tags: { type: "array", items: { type: "string" } } } },
              ],
            },
          },
        },
      },
    },
    schemas: {
      NewItem: {
        type: "object",
        required: ["id", "name"],
        properties: {
          id: { type: "string", readOnly: true },
          name: { type: "string", description: "The name", example: "Boat" },
          colour: { type: "string", nullable: true, enum: ["red", "blue"] },
          parent: { $ref: "#/components/schemas/Category" },
        },
      },
      Item: { allOf: [{ $ref: "#/components/schemas/NewItem" }], properties: { name: { type: "string" } } },
      Category: {
        type: "object",
        properties: {
          title: { type: "string" },
          children: { type: "array", items: { $ref: "#/components/schemas/Category" } },
        },
      },
    },
  },
}

/** A document of 3.1: types that are lists, a body that is no object, styles of paths. */
export const game = {
  openapi: "3.1.0",
  info: { title: "Game", version: "1" },
  servers: [{ url: "/api" }],
  paths: {
    "/board/{row}/{column}": {
      parameters: [
        { name: "row", in: "path", required: true, schema: { $ref: "#/components/schemas/Place" } },
        { name: "column", in: "path", required: true, schema: { $ref: "#/components/schemas/Place" } },
      ],
      put: {
        operationId: "put-square",
        requestBody: {
          required: true,
          content: {
            "application/json; charset=utf-8": { schema: { type: ["string", "null"], enum: [null, "X", "O"] } },
          },
        },
        responses: {},
      },
    },
    "/notes": {
      post: { operationId: "note", requestBody: { required: true, content: { "text/plain": {} } }, responses: {} },
    },
  },
  components: { schemas: { Place: { type: "integer", minimum: 1, maximum: 3 } } },
}
