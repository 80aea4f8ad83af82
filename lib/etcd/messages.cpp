// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "messages.hpp"

#include "base64.hpp"

#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value.hpp>

namespace tenure::etcd
{

namespace
{

void add(std::string& list, std::string const& element)
{
    if (!list.empty())
        list += ',';
    list += element;
}

std::string quoted_key(std::string_view key)
{
    return "\"key\":\"" + to_base64(key) + '"';
}

std::string read_operation(Keys const& keys, RangeOptions options)
{
    return "{\"request_range\":" + range_body(keys, options) + '}';
}

} // namespace

std::string range_body(Keys const& keys, RangeOptions options)
{
    auto text = '{' + quoted_key(keys.key);
    if (!keys.end.empty())
        text += ",\"range_end\":\"" + to_base64(keys.end) + '"';
    if (options.limit != 0)
        text += ",\"limit\":\"" + std::to_string(options.limit) + '"';
    if (options.keys_only)
        text += ",\"keys_only\":true";
    return text + '}';
}

Transaction& Transaction::if_created_at(std::string_view key, std::uint64_t revision)
{
    add(compare_, '{' + quoted_key(key) + ",\"target\":\"CREATE\",\"result\":\"EQUAL\",\"create_revision\":\"" +
                      std::to_string(revision) + "\"}");
    return *this;
}

Transaction& Transaction::if_value(std::string_view key, std::string_view value)
{
    add(compare_,
        '{' + quoted_key(key) + ",\"target\":\"VALUE\",\"result\":\"EQUAL\",\"value\":\"" + to_base64(value) + "\"}");
    return *this;
}

Transaction& Transaction::then_put(std::string_view key, std::string_view value, LeaseId lease)
{
    add(success_, "{\"request_put\":{" + quoted_key(key) + ",\"value\":\"" + to_base64(value) + "\",\"lease\":\"" +
                      std::to_string(lease) + "\"}}");
    return *this;
}

Transaction& Transaction::then_delete(std::string_view key)
{
    add(success_, "{\"request_delete_range\":{" + quoted_key(key) + "}}");
    return *this;
}

Transaction& Transaction::then_read(Keys const& keys, RangeOptions options)
{
    add(success_, read_operation(keys, options));
    return *this;
}

Transaction& Transaction::else_read(Keys const& keys, RangeOptions options)
{
    add(failure_, read_operation(keys, options));
    return *this;
}

std::string Transaction::body() const
{
    return "{\"compare\":[" + compare_ + "],\"success\":[" + success_ + "],\"failure\":[" + failure_ + "]}";
}

std::string grant_body(LeaseId id, std::int64_t seconds)
{
    return "{\"TTL\":\"" + std::to_string(seconds) + "\",\"ID\":\"" + std::to_string(id) + "\"}";
}

std::string lease_body(LeaseId id)
{
    return "{\"ID\":\"" + std::to_string(id) + "\"}";
}

std::string authenticate_body(std::string const& user, std::string const& password)
{
    // the only texts of others that are not base64
    return "{\"name\":" + boost::json::serialize(boost::json::string(user)) +
           ",\"password\":" + boost::json::serialize(boost::json::string(password)) + '}';
}

std::string watch_body(std::int64_t watch_id, Keys const& keys, std::uint64_t from_revision)
{
    auto text = "{\"create_request\":{" + quoted_key(keys.key);
    if (!keys.end.empty())
        text += ",\"range_end\":\"" + to_base64(keys.end) + '"';
    return text + ",\"filters\":[\"NOPUT\"],\"watch_id\":\"" + std::to_string(watch_id) + "\",\"start_revision\":\"" +
           std::to_string(from_revision) + "\"}}";
}

} // namespace tenure::etcd
