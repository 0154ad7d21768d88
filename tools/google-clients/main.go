// Use Google's library for Go as its users do: no address and no certificate is set here.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"cloud.google.com/go/storage"
	"golang.org/x/oauth2"
	"google.golang.org/api/option"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write(ctx context.Context, object *storage.ObjectHandle, data []byte) {
	writer := object.NewWriter(ctx)
	writer.ChunkSize = 1 << 20
	_, err := writer.Write(data)
	check(err)
	check(writer.Close())
}

func main() {
	ctx := context.Background()
	token := oauth2.StaticTokenSource(&oauth2.Token{AccessToken: os.Getenv("VERTEX_EMULATOR_TOKEN")})
	client, err := storage.NewClient(ctx, option.WithTokenSource(token))
	check(err)
	bucket := client.Bucket("from-go")
	check(bucket.Create(ctx, "local", nil))
	write(ctx, bucket.Object("a/b.txt"), []byte("hello from go"))
	write(ctx, bucket.Object("big"), make([]byte, 9000000))
	reader, err := bucket.Object("a/b.txt").NewReader(ctx)
	check(err)
	data, err := io.ReadAll(reader)
	check(err)
	attributes, err := bucket.Object("big").Attrs(ctx)
	check(err)
	topic := storage.Notification{TopicProjectID: "p", TopicID: "t", PayloadFormat: storage.JSONPayload}
	_, refused := bucket.AddNotification(ctx, &topic)
	check(json.NewEncoder(os.Stdout).Encode(map[string]any{
		"read":    string(data),
		"size":    attributes.Size,
		"refused": fmt.Sprint(refused),
		"jobs":    jobs(ctx, token),
	}))
}
