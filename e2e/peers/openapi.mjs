// Reads an OpenAPI file with swagger-parser, follows every reference and checks it
// against the schema of its version; prints the number of operations.
//
//   EVERTHREAD_TEST_AIMOCK=$(scripts/peers.sh) node e2e/peers/openapi.mjs FILE

import { createRequire } from "node:module";
import { realpathSync } from "node:fs";

const need = createRequire(realpathSync(process.env.EVERTHREAD_TEST_AIMOCK));
const { SwaggerParser } = need("@apidevtools/swagger-parser");
const parsed = await SwaggerParser.validate(process.argv[2]);
console.log(Object.values(parsed.paths).flatMap(Object.values).length);
