const place = 'backscroll-reloaded';

/**
 * Loads a module that is not part of `main.ts`. After an upgrade of the service its file is gone: then the page loads again, once for
 * each version that it came from. It stays as it is if the service serves the same version or cannot be reached.
 */
export async function loadPart<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    const version = new URL(import.meta.url).pathname;
    const page = await fetch(location.pathname).then((response) => response.text());
    const reloaded = sessionStorage.getItem(place) ?? '';
    if (page.includes(version) || reloaded.includes(version)) throw error;
    sessionStorage.setItem(place, `${reloaded} ${version}`);
    location.reload();
    return new Promise(() => undefined);
  }
}
