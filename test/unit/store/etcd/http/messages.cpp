// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Requests to etcd's gateway and its replies, as text: no I/O.
#include "store/etcd/http/messages.hpp"
#include "store/etcd/http/base64.hpp"
#include "store/etcd/http/exchange.hpp"
#include "store/etcd/http/reply_reader.hpp"
#include "store/etcd/steps.hpp"

#include <tenure/errc.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <string>

using namespace tenure;
using namespace tenure::etcd;

TEST_CASE("bytes go to base64 and back, and what is no base64 is refused", "[etcd]")
{
    // RFC 4648, section 10
    CHECK(to_base64("").empty());
    CHECK(to_base64("f") == "Zg==");
    CHECK(to_base64("fo") == "Zm8=");
    CHECK(to_base64("foo") == "Zm9v");
    CHECK(to_base64("foobar") == "Zm9vYmFy");
    std::string all;
    for (int i = 0; i < 256; ++i) {
        all.push_back(static_cast<char>(i));
        CHECK(from_base64(to_base64(all)) == all);
    }
    CHECK_FALSE(from_base64("Zg="));
    CHECK_FALSE(from_base64("Z!=="));
    CHECK_FALSE(from_base64("===="));
    CHECK_FALSE(from_base64("Z=9v"));
    CHECK_FALSE(from_base64("Zg==Zm9v"));
    CHECK_FALSE(from_base64(" Zg="));
    CHECK_FALSE(from_base64("Zm9v\n\n\n\n"));
    CHECK_FALSE(from_base64("Zm9v----"));
}

TEST_CASE("a transaction says nothing that is a default", "[etcd]")
{
    // base64: k, v, a, b
    CHECK(
        Transaction().if_absent("k").then_put("k", "v", 7).else_read({"k", {}}, {65, true}).body() ==
        R"({"compare":[{"key":"aw=="}],"success":[{"request_put":{"key":"aw==","value":"dg==","lease":"7"}}],)"
        R"("failure":[{"request_range":{"key":"aw==","keys_only":true}}]})");
    CHECK(
        Transaction().if_modified_at("k", 12).then_delete("k").body() ==
        R"({"compare":[{"key":"aw==","target":"MOD","mod_revision":"12"}],)"
        R"("success":[{"request_delete_range":{"key":"aw=="}}]})");
    CHECK(
        Transaction().if_created_at("k", 11).if_value("k", "v").then_put("k", "v", 0).body() ==
        R"({"compare":[{"key":"aw==","target":"CREATE","create_revision":"11"},)"
        R"({"key":"aw==","target":"VALUE","value":"dg=="}],)"
        R"("success":[{"request_put":{"key":"aw==","value":"dg=="}}]})");
    CHECK(
        Transaction().then_put_in_its_lease("k", "v").body() ==
        R"({"success":[{"request_put":{"key":"aw==","value":"dg==","ignore_lease":true}}]})");
    CHECK(
        Transaction().then_read({"a", "b"}, {100, true}).then_read({"k", {}}, {}).body() ==
        R"({"success":[{"request_range":{"key":"YQ==","range_end":"Yg==","limit":"100","keys_only":true}},)"
        R"({"request_range":{"key":"aw=="}}]})");
    CHECK(Transaction().body() == "{}");
}

TEST_CASE("a pool's keys are told from others that lie between them", "[etcd]")
{
    auto const pool = numbered_keys("pool:", 12);
    auto const keys = whole(*pool);
    for (std::uint32_t i = 0; i < 12; ++i) {
        auto const key = pool->key(i);
        CHECK(index_of(*pool, key) == i);
        CHECK(key >= keys.key);
        CHECK(key < keys.end);
    }
    for (auto const* other :
         {"pool:", "pool:12", "pool:01", "pool:1x", "pool:-1", "pool", "other:1", "pool:99999999999"})
        CHECK_FALSE(index_of(*pool, other));
    CHECK(index_of(*named_key("lock"), "lock") == 0);
    CHECK_FALSE(index_of(*named_key("lock"), "lock0"));
}

TEST_CASE("a reply is read however its bytes come, and not beyond its limit", "[etcd]")
{
    std::string const chunked = "HTTP/1.1 404 Not Found\r\nTrailer: Grpc-Trailer-Content-Type\r\nTransfer-Encoding: "
                                "chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\nGrpc-Trailer-Content-Type: x\r\n\r\n";
    auto const step = GENERATE(as<std::size_t>{}, 1, 3, 7, 1000);
    ReplyReader reader(100);
    auto state = ReplyReader::State::more;
    for (std::size_t at = 0; at < chunked.size(); at += step) {
        REQUIRE(state == ReplyReader::State::more);
        state = reader.feed(chunked.substr(at, step));
    }
    CHECK(state == ReplyReader::State::complete);
    CHECK(reader.status() == 404);
    CHECK(reader.keeps_alive());
    CHECK(reader.take_body() == "hello world");
}

TEST_CASE("a malformed or excessive reply is broken", "[etcd]")
{
    auto const text = GENERATE(
        as<std::string>{}, "nonsense\r\n\r\n", "-ERR unknown command\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfff\r\n" + std::string(0xfff, 'x'),
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}{", "HTTP/1.1 200 OK\r\nX: " + std::string(20'000, 'x'));
    CAPTURE(text.substr(0, 80));
    ReplyReader reader(100);
    CHECK(reader.feed(text) == ReplyReader::State::broken);
    CHECK_FALSE(reader.error().empty());
}

TEST_CASE("a reply that is cut off is no reply", "[etcd]")
{
    ReplyReader reader(100);
    CHECK(reader.feed("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345") == ReplyReader::State::more);
    CHECK(reader.end() == ReplyReader::State::broken);
    ReplyReader nothing(100);
    CHECK(nothing.end() == ReplyReader::State::broken);
}

TEST_CASE("a stream's body is taken as it comes, without an end", "[etcd]")
{
    ReplyReader reader(100, true);
    CHECK(reader.feed("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n") == ReplyReader::State::more);
    for (int i = 0; i < 100; ++i) {
        CHECK(reader.feed("a\r\n0123456789\r\n") == ReplyReader::State::more);
        CHECK(reader.take_body() == "0123456789");
    }
    CHECK(reader.feed("fff\r\n" + std::string(0xfff, 'x')) == ReplyReader::State::broken);
}

TEST_CASE("replies are read as protocol buffers write them: what is zero is left out", "[etcd]")
{
    auto const lost = parse_lease(R"({"result":{"header":{"revision":"1","raft_term":"2"},"ID":"999"}})");
    REQUIRE(lost);
    CHECK(lost->ttl == 0);
    CHECK(lost->header.raft_term == 2);
    auto const kept = parse_lease(R"({"result":{"header":{"raft_term":"2"},"ID":"777","TTL":"5"}})");
    REQUIRE(kept);
    CHECK(kept->ttl == 5);

    auto const held = parse_transaction(
        R"({"header":{"revision":"7","raft_term":"2"},"responses":[{"response_range":{"header":{"revision":"7"},)"
        R"("kvs":[{"key":"azE=","create_revision":"2","mod_revision":"3","version":"1","value":"djE=","lease":"777"}],)"
        R"("count":"1"}},{"response_range":{"header":{"revision":"7"}}}]})");
    REQUIRE(held);
    CHECK_FALSE(held->succeeded);
    REQUIRE(held->reads.size() == 2);
    REQUIRE(held->reads[0].found.size() == 1);
    auto const& entry = held->reads[0].found[0];
    CHECK(entry.key == "k1");
    CHECK(entry.value == "v1");
    CHECK(entry.create_revision == 2);
    CHECK(entry.mod_revision == 3);
    CHECK(entry.lease == 777);
    CHECK(held->reads[1].found.empty());

    auto const compacted =
        parse_watch(R"({"result":{"header":{"revision":"9"},"watch_id":"1","canceled":true,"compact_revision":"8"}})");
    REQUIRE(compacted);
    CHECK(compacted->cancelled);
    CHECK(compacted->compacted_before == 8);
    CHECK(compacted->deleted.empty());
}

TEST_CASE("malformed replies are distinguished from valid ones", "[etcd]")
{
    auto const text = GENERATE(
        as<std::string>{}, "", "null", "[]", "{}", "{\"header\":1}", R"({"header":{"revision":"x"}})",
        R"({"header":{"revision":"-1"}})", R"({"header":{"raft_term":"99999999999999999999"}})",
        R"({"header":{},"kvs":[1]})", R"({"header":{},"kvs":[{"key":"!"}]})", R"({"header":{},"kvs":7})",
        "{\"header\":" + std::string(1000, '[') + "}");
    CAPTURE(text.substr(0, 60));
    CHECK_FALSE(parse_range(text));
}

TEST_CASE("errors of the gateway are distinguished", "[etcd]")
{
    using Executed = GatewayError::Executed;
    auto const of = [](unsigned status, std::string const& words) {
        return classify(status, R"({"error":")" + words + R"(","message":")" + words + R"(","code":9})");
    };
    CHECK(
        of(400, "etcdserver: authentication failed, invalid user ID or password").error == errc::authentication_failed);
    CHECK(of(400, "etcdserver: authentication failed, invalid user ID or password").fatal);
    CHECK(of(401, "etcdserver: invalid auth token").wants_token);
    CHECK_FALSE(of(401, "etcdserver: invalid auth token").fatal);
    CHECK(of(403, "etcdserver: permission denied").error == errc::permission_denied);
    CHECK(of(404, "etcdserver: requested lease not found").lease_not_found);
    CHECK_FALSE(of(404, "etcdserver: requested lease not found").fatal);
    CHECK(of(429, "etcdserver: mvcc: database space exceeded").error == errc::store_refused);
    CHECK(of(429, "etcdserver: mvcc: database space exceeded").executed == Executed::maybe);
    CHECK(of(503, "etcdserver: no leader").executed == Executed::no);
    CHECK(of(503, "etcdserver: no leader").another_member);
    // the effect of these is unknown
    for (auto const* words :
         {"etcdserver: request timed out", "etcdserver: leader changed", "etcdserver: server stopped"})
        CHECK(of(503, words).executed == Executed::maybe);
    CHECK(classify(404, "404 page not found\n").error == errc::wrong_server);
    // a proxy's words, whatever they are
    CHECK(classify(401, "<html>Unauthorized</html>").error == errc::authentication_failed);
    CHECK(classify(401, "<html>Unauthorized</html>").wants_token);
    CHECK(classify(401, "<html>Unauthorized</html>").fatal);
    CHECK(classify(403, "<html>Forbidden</html>").error == errc::permission_denied);
    CHECK(classify(403, "<html>Forbidden</html>").fatal);
    CHECK(of(501, "Method Not Allowed").error == errc::wrong_server);
    CHECK(classify(405, "").fatal);
    CHECK(classify(413, "<html>Request Entity Too Large</html>").fatal);
    CHECK_FALSE(classify(502, "<html>Bad Gateway</html>").fatal);
    CHECK(classify(400, "Client sent an HTTP request to an HTTPS server.\n").error == errc::tls_failed);
    CHECK(classify(200, R"({"error":{"grpc_code":14,"message":"etcdserver: no leader"}})").another_member);
    // a server's words steer no terminal
    CHECK(classify(500, "a\x1b[31mb\nc").words == "a [31mb c");
}
