import { byteForms, type Route, type RouteName, routeNames, routes } from '@caisson/contract';
import { z } from 'zod';

/**
 * The routes as a page to read, made here from the same table: a viewer from elsewhere would weigh more than the server
 * and run its script on the page of a server that a browser is allowed to call.
 */
export function docsPage(version: string): string {
  const tags = [...new Set(routeNames.map((name) => routes[name].tag))];
  const sections = tags.map((tag) => {
    const named = routeNames.filter((name) => routes[name].tag === tag);
    return `<section><h2>${tag}</h2>${named.map(article).join('')}</section>`;
  });
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Caisson API</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>
:root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
code,pre{font:13px/1.45 ui-monospace,monospace}article{border-top:1px solid #8884;padding:.6rem 0}h3{margin:0;font-size:1rem}
.method{display:inline-block;min-width:4.5rem;font-weight:700}details pre{overflow:auto;background:#8881;padding:.6rem;border-radius:.3rem}
.scope{float:right;opacity:.7}</style></head><body><h1>Caisson API</h1>
<p>Version ${escapeHtml(version)}. The same as <a href="/v1/openapi.json">OpenAPI 3.1</a>. Send
<code>Authorization: Bearer &lt;key&gt;</code> or <code>X-API-Key</code>. Failures are problem documents with a
<code>code</code> and a <code>hint</code>.</p>${sections.join('')}</body></html>`;
}

function article(name: RouteName): string {
  const route: Route = routes[name];
  const shapes = [
    ['query', route.query],
    ['body', route.body],
    ...Object.entries(route.download || route.webSocket ? {} : route.responses).map(
      ([status, schema]) => [`answer ${status}`, schema] as const,
    ),
  ] as const;
  const details = shapes.map(([title, schema]) =>
    schema ? shape(title, schema, title.startsWith('answer') ? 'output' : 'input') : '',
  );
  const bytes = bytesOf(route);
  return `<article id="${name}"><span class="scope">${route.scope === null ? 'no key' : `scope ${route.scope}`}</span>
<h3><span class="method">${route.method}</span><code>${escapeHtml(route.path)}</code></h3><p>${escapeHtml(route.summary)}. <code>${name}</code>${bytes}</p>${details.join('')}</article>`;
}

/** What of the route is not JSON. */
function bytesOf({ upload, download, accepts, webSocket }: Route): string {
  const parts = [
    upload && `takes <code>${byteForms[upload]}</code>`,
    download && `gives <code>${byteForms[download]}</code>`,
    accepts && `gives <code>${byteForms[accepts]}</code> to who accepts it`,
    webSocket && 'is a WebSocket',
  ].filter(Boolean);
  return parts.length === 0 ? '' : ` It ${parts.join(', ')}.`;
}

function shape(title: string, schema: z.ZodType, io: 'input' | 'output'): string {
  const { $schema: _, ...text } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return `<details><summary>${title}</summary><pre>${escapeHtml(JSON.stringify(text, null, 2))}</pre></details>`;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`);
}
