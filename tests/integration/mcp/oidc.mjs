// An authorization server: `node oidc.mjs FOLDER PORT SECONDS`, where FOLDER has node_modules, and
// SECONDS is how long an access token is good for.
import { createServer } from "node:http";

const [folder, port, seconds] = process.argv.slice(2);
const { default: Provider } = await import(`${folder}/node_modules/oidc-provider/lib/index.js`);

const provider = new Provider(`http://127.0.0.1:${port}/op`, {
  features: {
    registration: { enabled: true },
    revocation: { enabled: true },
    resourceIndicators: {
      enabled: true,
      useGrantedResource: () => true,
      getResourceServerInfo: (_, audience) => ({
        audience,
        scope: "notes",
        accessTokenFormat: "jwt",
        accessTokenTTL: Number(seconds),
        jwt: { sign: { alg: "RS256" } },
      }),
    },
  },
  scopes: ["openid", "offline_access", "notes"],
  issueRefreshToken: () => true,
});
provider.on("registration_create.success", () => console.log("registered"));
provider.on("grant.success", (context) => console.log(context.oidc.params.grant_type));
provider.on("grant.error", (_, error) => console.log(error.error, error.error_description));
provider.on("registration_create.error", (_, error) => console.log(error.error_description));
provider.on("authorization.error", (_, error) => console.log(error.error, error.error_description));

// Below a path, for pydantic, and so servers of fastmcp, write an issuer without one with a slash.
const answer = provider.callback();
createServer((request, response) => {
  request.originalUrl = request.url;
  request.url = request.url.replace(/^\/op/, "");
  answer(request, response);
}).listen(Number(port), "127.0.0.1");
