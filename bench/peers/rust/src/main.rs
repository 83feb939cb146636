//! A page of messages as a program in Rust would serve it: axum and rusqlite on one thread. It reads Backscroll's database file,
//! checks the key by its digest, and has no cache, log or metrics. `peer DATABASE`

use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::serve::ListenerExt;
use axum::{Router, routing::get};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension, params};
use sha2::{Digest, Sha256};
use std::sync::{Arc, Mutex};

#[derive(serde::Deserialize)]
struct Page {
    conversation_id: String,
    user: String,
    first_id: Option<String>,
    limit: Option<usize>,
}

const FIND_KEY: &str =
    "SELECT app_id FROM api_keys WHERE digest = ? AND kind = 'app' AND revoked_at IS NULL";
const FIND_START: &str = "SELECT c.version, f.created_at, f.sequence FROM conversations c
    LEFT JOIN messages f ON f.id = ? AND f.conversation_id = c.conversation_id
    WHERE c.conversation_id = ? AND c.app_id = ? AND c.deleted = 0 AND c.\"user\" = ?";
const READ_PAGE: &str =
    "SELECT doc FROM messages WHERE conversation_id = ? AND (created_at, sequence) < (?, ?)
    ORDER BY created_at DESC, sequence DESC LIMIT +?";

/// The body and the version; nothing if the key, the conversation or the message does not exist.
fn read_page(
    db: &Connection,
    secret: &str,
    page: &Page,
) -> rusqlite::Result<Option<(Vec<u8>, String)>> {
    let digest = Sha256::digest(secret)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect::<String>();
    let app: Option<String> = db
        .prepare_cached(FIND_KEY)?
        .query_row([digest], |row| row.get(0))
        .optional()?;
    let Some(app) = app else { return Ok(None) };
    let first = page.first_id.as_deref().unwrap_or("");
    let start: Option<(String, Option<i64>, Option<i64>)> = db
        .prepare_cached(FIND_START)?
        .query_row(
            params![first, page.conversation_id, app, page.user],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )
        .optional()?;
    let Some((version, created_at, sequence)) = start else {
        return Ok(None);
    };
    if page.first_id.is_some() && created_at.is_none() {
        return Ok(None);
    }
    let before = (created_at.unwrap_or(i64::MAX), sequence.unwrap_or(i64::MAX));
    let limit = page.limit.unwrap_or(20);
    let head = |has_more| format!("{{\"limit\":{limit},\"has_more\":{has_more},\"data\":[");
    // One buffer, with the head of most pages: two would be more than the allocator keeps from one page to the next.
    let mut body = head(true).into_bytes();
    let head_length = body.len();
    body.reserve(96 * 1024);
    let mut statement = db.prepare_cached(READ_PAGE)?;
    let mut rows = statement.query(params![
        page.conversation_id,
        before.0,
        before.1,
        (limit + 1) as i64
    ])?;
    let mut count = 0;
    while let Some(row) = rows.next()? {
        count += 1;
        if count > limit {
            break;
        }
        if count > 1 {
            body.push(b',');
        }
        body.extend_from_slice(row.get_ref(0)?.as_bytes()?);
    }
    if count <= limit {
        body.splice(..head_length, head(false).into_bytes());
    }
    body.extend_from_slice(b"]}");
    Ok(Some((body, version)))
}

async fn messages(
    State(db): State<Arc<Mutex<Connection>>>,
    headers: HeaderMap,
    Query(page): Query<Page>,
) -> Response {
    let authorization = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok());
    let Some(secret) = authorization.and_then(|value| value.strip_prefix("Bearer ")) else {
        return StatusCode::UNAUTHORIZED.into_response();
    };
    match read_page(&db.lock().unwrap(), secret, &page) {
        Ok(Some((body, version))) => {
            let etag = format!("\"{version}\"");
            (
                [
                    (
                        header::CONTENT_TYPE,
                        "application/json; charset=utf-8".into(),
                    ),
                    (header::ETAG, etag),
                ],
                body,
            )
                .into_response()
        }
        Ok(None) => StatusCode::NOT_FOUND.into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

fn main() {
    let path = std::env::args().nth(1).expect("the path of a database");
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags).unwrap();
    // Otherwise this build of SQLite plans a statement again whenever its parameters change, half of the time of a page.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)
        .unwrap();
    db.execute_batch("PRAGMA mmap_size = 8589934592; PRAGMA query_only = ON")
        .unwrap();
    let app = Router::new()
        .route("/v1/messages", get(messages))
        .with_state(Arc::new(Mutex::new(db)));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        println!("listening at http://{}", listener.local_addr().unwrap());
        let without_delay = listener.tap_io(|stream| stream.set_nodelay(true).unwrap());
        axum::serve(without_delay, app).await.unwrap();
    });
}
