// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// The order of requests that wait for a connection.
#include "store/etcd/http/request_queue.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace tenure;
using namespace tenure::etcd;
using namespace std::chrono_literals;

namespace
{

constexpr Instant start{1h};

RequestQueue::Entry entry(std::string body, Sender sender = {}, Deadline not_after = Instant::max())
{
    HttpRequest request;
    request.body = std::move(body);
    request.not_after = std::move(not_after);
    request.sender = std::move(sender);
    return {std::move(request), [](Outcome const&) {}};
}

std::string bodies(std::vector<RequestQueue::Entry> const& all)
{
    std::string text;
    for (auto const& one : all)
        text += one.request.body;
    return text;
}

std::string drain(RequestQueue& queue)
{
    std::string text;
    while (auto next = queue.take_next())
        text += next->request.body;
    return text;
}

} // namespace

TEST_CASE("renewals go first, then later steps, then first steps, each in the order of their calls", "[etcd]")
{
    RequestQueue queue;
    for (std::string const number : {"1", "2", "3"}) {
        queue.add(entry("f" + number + " "));
        queue.add(entry("l" + number + " ", {.line = Line::later_steps}));
        queue.add(entry("r" + number + " ", {.line = Line::renewals}));
    }
    CHECK(queue.size() == 9);
    CHECK(drain(queue) == "r1 r2 r3 l1 l2 l3 f1 f2 f3 ");
    CHECK(queue.empty());
}

TEST_CASE("a request that is sent again goes to the front of its own queue", "[etcd]")
{
    RequestQueue queue;
    queue.add(entry("a"));
    queue.add(entry("b"));
    auto first = queue.take_next();
    queue.add(entry("r", {.line = Line::renewals}));
    queue.put_back(std::move(*first));
    CHECK(drain(queue) == "rab");
}

TEST_CASE("requests whose deadline has passed leave the queue, and the next deadline is known", "[etcd]")
{
    RequestQueue queue;
    CHECK(queue.next_deadline() == Instant::max());
    queue.add(entry("c", {}, start + 3s));
    queue.add(entry("a", {}, start + 1s));
    queue.add(entry("x"));
    queue.add(entry("b", {.line = Line::later_steps}, start + 2s));
    CHECK(queue.next_deadline() == start + 1s);
    CHECK(bodies(queue.take_overdue(start + 2s)) == "ab");
    CHECK(queue.next_deadline() == start + 3s);
    CHECK(drain(queue) == "cx");
    CHECK(queue.next_deadline() == Instant::max());
}

TEST_CASE("a withdrawal takes out all steps of its owner, and no others", "[etcd]")
{
    RequestQueue queue;
    int const one = 0;
    int const another = 0;
    queue.add(entry("a", {.owner = &one}));
    queue.add(entry("b", {.owner = &another}));
    queue.add(entry("c", {.line = Line::later_steps, .owner = &one}));
    queue.add(entry("d"));
    CHECK(queue.take_of(&one).size() == 2);
    CHECK(queue.take_of(&one).empty());
    CHECK(drain(queue) == "bd");
}

TEST_CASE("requests of owners that have given up leave the queue", "[etcd]")
{
    RequestQueue queue;
    auto const mark = std::make_shared<RequestMark>();
    queue.add(entry("a", {}, Deadline(Instant::max(), mark)));
    queue.add(entry("b"));
    CHECK(queue.take_abandoned().empty());
    mark->ended = true;
    CHECK(bodies(queue.take_abandoned()) == "a");
    // where many wait, they are looked through once for many calls
    for (int i = 0; i < 1600; ++i)
        queue.add(entry("", {}, Deadline(Instant::max(), mark)));
    std::size_t calls = 1;
    while (queue.take_abandoned().empty())
        ++calls;
    CHECK(calls == 101);
    CHECK(queue.size() == 1);
}

TEST_CASE("only later steps of claims make progress while they wait", "[etcd]")
{
    RequestQueue queue;
    int const owner = 0;
    auto const first = std::make_shared<RequestMark>();
    auto const later = std::make_shared<RequestMark>();
    queue.add(entry("", {.owner = &owner}, Deadline(start + 1h, first)));
    queue.add(entry("", {.line = Line::later_steps, .owner = &owner}, Deadline(start + 1h, later)));
    queue.note_progress(start);
    CHECK(first->progressed == Instant{});
    CHECK(later->progressed == start);
}
