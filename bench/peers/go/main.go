// A page of messages as a program in Go would serve it: net/http and go-sqlite3. It reads Backscroll's database file, checks the
// key by its digest, and has no cache, log or metrics. The bench runs it with GOMAXPROCS=1. peer DATABASE
package main

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"log"
	"math"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"

	_ "github.com/mattn/go-sqlite3"
)

const findKey = `SELECT app_id FROM api_keys WHERE digest = ? AND kind = 'app' AND revoked_at IS NULL`
const findStart = `SELECT c.version, f.created_at, f.sequence FROM conversations c
	LEFT JOIN messages f ON f.id = ? AND f.conversation_id = c.conversation_id
	WHERE c.conversation_id = ? AND c.app_id = ? AND c.deleted = 0 AND c."user" = ?`
const readPage = `SELECT doc FROM messages WHERE conversation_id = ? AND (created_at, sequence) < (?, ?)
	ORDER BY created_at DESC, sequence DESC LIMIT +?`

type server struct{ findKey, findStart, readPage *sql.Stmt }

func (s *server) messages(w http.ResponseWriter, r *http.Request) {
	secret, isBearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	digest := sha256.Sum256([]byte(secret))
	var app string
	if !isBearer || s.findKey.QueryRow(hex.EncodeToString(digest[:])).Scan(&app) != nil {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	query := r.URL.Query()
	conversation, first := query.Get("conversation_id"), query.Get("first_id")
	var version string
	var createdAt, sequence sql.NullInt64
	start := s.findStart.QueryRow(first, conversation, app, query.Get("user"))
	if start.Scan(&version, &createdAt, &sequence) != nil || (first != "" && !createdAt.Valid) {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if first == "" {
		createdAt.Int64, sequence.Int64 = math.MaxInt64, math.MaxInt64
	}
	limit, err := strconv.Atoi(query.Get("limit"))
	if err != nil {
		limit = 20
	}
	rows, err := s.readPage.Query(conversation, createdAt.Int64, sequence.Int64, limit+1)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	defer rows.Close()
	docs := make([]byte, 0, 96*1024)
	count := 0
	for rows.Next() {
		count++
		if count > limit {
			break
		}
		var doc sql.RawBytes
		if rows.Scan(&doc) != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		if count > 1 {
			docs = append(docs, ',')
		}
		docs = append(docs, doc...)
	}
	head := fmt.Sprintf(`{"limit":%d,"has_more":%t,"data":[`, limit, count > limit)
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("ETag", `"`+version+`"`)
	w.Header().Set("Content-Length", strconv.Itoa(len(head)+len(docs)+2))
	w.Write(append(append([]byte(head), docs...), ']', '}'))
}

func prepare(db *sql.DB, text string) *sql.Stmt {
	statement, err := db.Prepare(text)
	if err != nil {
		log.Fatal(err)
	}
	return statement
}

func main() {
	db, err := sql.Open("sqlite3", "file:"+os.Args[1]+"?_query_only=true")
	if err != nil {
		log.Fatal(err)
	}
	// One connection for one core: the settings of a connection are its own.
	db.SetMaxOpenConns(1)
	if _, err = db.Exec("PRAGMA mmap_size = 8589934592"); err != nil {
		log.Fatal(err)
	}
	s := &server{prepare(db, findKey), prepare(db, findStart), prepare(db, readPage)}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("GET /v1/messages", s.messages)
	fmt.Printf("listening at http://%s\n", listener.Addr())
	log.Fatal(http.Serve(listener, nil))
}
