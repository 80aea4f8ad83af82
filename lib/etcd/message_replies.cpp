// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "messages.hpp"

#include "base64.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include <charconv>
#include <system_error>

namespace tenure::etcd
{

namespace
{

namespace json = boost::json;

constexpr std::size_t deepest = 16;

std::optional<json::value> read(std::string_view text)
{
    json::parse_options options;
    options.max_depth = deepest;
    boost::system::error_code error;
    auto value = json::parse(text, error, {}, options);
    if (error || !value.is_object())
        return std::nullopt;
    return value;
}

/// 0 where it is left out, as protocol buffers have it
template <class Number>
bool number(json::object const& object, char const* name, Number& result)
{
    result = 0;
    auto const* const value = object.if_contains(name);
    if (value == nullptr)
        return true;
    if (value->is_string()) {
        std::string_view const text = value->as_string();
        auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), result);
        return !text.empty() && error == std::errc{} && end == text.data() + text.size();
    }
    boost::system::error_code error;
    result = value->to_number<Number>(error);
    return !error;
}

/// false where it is left out
bool flag(json::object const& object, char const* name)
{
    auto const* const value = object.if_contains(name);
    return value != nullptr && value->is_bool() && value->as_bool();
}

std::string text(json::object const& object, char const* name)
{
    auto const* const value = object.if_contains(name);
    return value != nullptr && value->is_string() ? std::string(value->as_string()) : std::string();
}

bool bytes(json::object const& object, char const* name, std::string& result)
{
    auto decoded = from_base64(text(object, name));
    if (decoded)
        result = std::move(*decoded);
    return decoded.has_value();
}

bool header(json::object const& object, Header& result)
{
    auto const* const value = object.if_contains("header");
    if (value == nullptr || !value->is_object())
        return false;
    auto const& fields = value->get_object();
    return number(fields, "revision", result.revision) && number(fields, "raft_term", result.raft_term) &&
           number(fields, "member_id", result.member_id);
}

/// null: left out
json::array const* list(json::object const& object, char const* name)
{
    auto const* const value = object.if_contains(name);
    return value != nullptr ? value->if_array() : nullptr;
}

bool key_value(json::value const& value, KeyValue& result)
{
    if (!value.is_object())
        return false;
    auto const& object = value.get_object();
    return bytes(object, "key", result.key) && bytes(object, "value", result.value) &&
           number(object, "create_revision", result.create_revision) &&
           number(object, "mod_revision", result.mod_revision) && number(object, "lease", result.lease);
}

bool range(json::object const& object, RangeReply& result)
{
    result.more = flag(object, "more");
    auto const* const found = list(object, "kvs");
    if (found == nullptr)
        return !object.contains("kvs");
    for (auto const& value : *found)
        if (!key_value(value, result.found.emplace_back()))
            return false;
    return true;
}

/// What a streaming method answers lies in "result".
std::optional<json::value> read_streamed(std::string_view body)
{
    auto value = read(body);
    if (!value)
        return std::nullopt;
    auto const* const result = value->get_object().if_contains("result");
    if (result == nullptr)
        return value;
    if (!result->is_object())
        return std::nullopt;
    auto inner = *result;
    return inner;
}

} // namespace

std::optional<RangeReply> parse_range(std::string_view body)
{
    auto const value = read(body);
    RangeReply reply;
    if (!value || !header(value->get_object(), reply.header) || !range(value->get_object(), reply))
        return std::nullopt;
    return reply;
}

std::optional<TransactionReply> parse_transaction(std::string_view body)
{
    auto const value = read(body);
    TransactionReply reply;
    if (!value || !header(value->get_object(), reply.header))
        return std::nullopt;
    reply.succeeded = flag(value->get_object(), "succeeded");
    auto const* const responses = list(value->get_object(), "responses");
    if (responses == nullptr)
        return reply;
    for (auto const& response : *responses) {
        if (!response.is_object())
            return std::nullopt;
        auto const* const read_reply = response.get_object().if_contains("response_range");
        if (read_reply == nullptr)
            continue;
        if (!read_reply->is_object() || !range(read_reply->get_object(), reply.reads.emplace_back()))
            return std::nullopt;
    }
    return reply;
}

std::optional<LeaseReply> parse_lease(std::string_view body)
{
    auto const value = read_streamed(body);
    LeaseReply reply;
    if (!value || !header(value->get_object(), reply.header) || !number(value->get_object(), "TTL", reply.ttl))
        return std::nullopt;
    return reply;
}

std::optional<std::string> parse_token(std::string_view body)
{
    auto const value = read(body);
    if (!value)
        return std::nullopt;
    auto token = text(value->get_object(), "token");
    // it becomes a line of a header
    if (token.empty() || token.find_first_of("\r\n") != std::string::npos)
        return std::nullopt;
    return token;
}

std::optional<WatchReply> parse_watch(std::string_view line)
{
    auto const value = read_streamed(line);
    if (!value)
        return std::nullopt;
    auto const& object = value->get_object();
    WatchReply reply;
    if (object.contains("error")) {
        reply.failed = true;
        return reply;
    }
    if (!header(object, reply.header) || !number(object, "watch_id", reply.watch_id) ||
        !number(object, "compact_revision", reply.compacted_before))
        return std::nullopt;
    reply.created = flag(object, "created");
    reply.cancelled = flag(object, "canceled");
    reply.cancel_reason = text(object, "cancel_reason");
    auto const* const events = list(object, "events");
    reply.has_events = events != nullptr && !events->empty();
    return reply;
}

std::optional<StatusReply> parse_status(std::string_view body)
{
    auto const value = read(body);
    StatusReply reply;
    if (!value || !header(value->get_object(), reply.header) || !number(value->get_object(), "leader", reply.leader) ||
        !number(value->get_object(), "dbSize", reply.db_size))
        return std::nullopt;
    reply.version = text(value->get_object(), "version");
    return reply;
}

std::optional<std::size_t> parse_members(std::string_view body)
{
    auto const value = read(body);
    auto const* const members = value ? list(value->get_object(), "members") : nullptr;
    if (members == nullptr)
        return std::nullopt;
    return members->size();
}

std::optional<std::vector<std::string>> parse_alarms(std::string_view body)
{
    auto const value = read(body);
    if (!value)
        return std::nullopt;
    std::vector<std::string> names;
    if (auto const* const alarms = list(value->get_object(), "alarms"))
        for (auto const& alarm : *alarms)
            if (alarm.is_object())
                names.push_back(text(alarm.get_object(), "alarm"));
    return names;
}

} // namespace tenure::etcd
