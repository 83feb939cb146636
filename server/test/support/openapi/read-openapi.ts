import { startService } from '../harness.ts';

/** The OpenAPI document of the service, as openapi.json has it. */
export async function readOpenapi(): Promise<string> {
  const { base, close } = await startService('sqlite');
  const document = await (await fetch(`${base}/openapi.json`)).json();
  await close();
  return `${JSON.stringify(document, null, 2)}\n`;
}
