// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Commands on lists: the lines of waiters.
#include "server.hpp"

#include "../world.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>
#include <utility>

namespace tenure::simulation
{

namespace
{

/** An index of a list as users count, from the end if negative. */
std::int64_t place_of(std::int64_t index, std::deque<std::string> const& list)
{
    return index < 0 ? index + std::ssize(list) : index;
}

} // namespace

std::string RedisServer::line_name(RangeId range)
{
    return "{" + std::string(name_of(range)) + "}:waiting";
}

std::optional<RangeId> RedisServer::range_of_line(std::string_view key)
{
    for (auto const range : {RangeId::job, RangeId::plain, RangeId::slots})
        if (key == line_name(range))
            return range;
    return std::nullopt;
}

std::vector<KnownStore::Place> RedisServer::line(RangeId range)
{
    std::vector<Place> places;
    auto const* const entry = keys_of_.find(settings_.client.database, line_name(range), milliseconds_now());
    if (entry == nullptr)
        return places;
    auto const& names = names_.at(static_cast<std::size_t>(range));
    for (auto const& name : entry->list)
        if (auto const found = names.find(name); found != names.end())
            places.push_back(found->second);
    return places;
}

std::optional<Reply> RedisServer::find_list(std::string_view key, Keyspace::Entry*& entry)
{
    entry = find(key);
    if (entry != nullptr && !entry->is_list())
        return wrong_type();
    return std::nullopt;
}

Reply RedisServer::push(Words const& words, bool in_front)
{
    Keyspace::Entry* entry = nullptr;
    if (auto wrong = find_list(words[1], entry))
        return std::move(*wrong);
    if (entry == nullptr)
        entry = &keys_of_.set(now_.session->database, words[1], {});
    auto const range = range_of_line(words[1]);
    for (auto name = words.begin() + 2; name != words.end(); ++name) {
        if (in_front)
            entry->list.push_front(*name);
        else
            entry->list.push_back(*name);
        if (range)
            names_.at(static_cast<std::size_t>(*range))[*name] = {
                now_.session->process, now_.session->life, world().now(), now_.late};
    }
    return Reply::integer(std::ssize(entry->list));
}

Reply RedisServer::lpush(Words const& words)
{
    return push(words, true);
}

Reply RedisServer::rpush(Words const& words)
{
    return push(words, false);
}

Reply RedisServer::lpop(Words const& words)
{
    if (words.size() > 3)
        return wrong_number_of_arguments("lpop");
    std::int64_t count = 1;
    bool const counts = words.size() == 3;
    if (counts) {
        // Redis 6.2 brought the count
        if (settings_.flavor.before_lpos)
            return wrong_number_of_arguments("lpop");
        auto const number = number_in(words[2]);
        if (!number || *number < 0)
            return Reply::error("ERR value is out of range, must be positive");
        count = *number;
    }
    Keyspace::Entry* entry = nullptr;
    if (auto wrong = find_list(words[1], entry))
        return std::move(*wrong);
    if (entry == nullptr)
        return counts ? Reply::null_array() : Reply::null();
    auto popped = Reply::list(Reply::Kind::array, {});
    auto& list = entry->list;
    auto const range = range_of_line(words[1]);
    for (; count > 0 && !list.empty(); --count) {
        if (range)
            look_at_popped(*range, list.front());
        popped.elements.push_back(Reply::bulk(std::move(list.front())));
        list.pop_front();
    }
    if (list.empty())
        keys_of_.erase(now_.session->database, words[1]);
    return counts ? popped : std::move(popped.elements.front());
}

Reply RedisServer::lrem(Words const& words)
{
    auto const number = number_in(words[2]);
    if (!number)
        return no_number();
    Keyspace::Entry* entry = nullptr;
    if (auto wrong = find_list(words[1], entry))
        return std::move(*wrong);
    if (entry == nullptr)
        return Reply::integer(0);
    auto& list = entry->list;
    // 0: all of them; less: from the end
    bool const backwards = *number < 0;
    auto left = *number == 0 ? std::numeric_limits<std::int64_t>::max() : backwards ? -*number : *number;
    auto const before = std::ssize(list);
    if (backwards)
        std::ranges::reverse(list);
    std::erase_if(list, [&](std::string const& name) { return name == words[3] && left-- > 0; });
    if (backwards)
        std::ranges::reverse(list);
    auto const removed = before - std::ssize(list);
    if (list.empty())
        keys_of_.erase(now_.session->database, words[1]);
    return Reply::integer(removed);
}

Reply RedisServer::lrange(Words const& words)
{
    auto const first = number_in(words[2]);
    auto const last = number_in(words[3]);
    if (!first || !last)
        return no_number();
    Keyspace::Entry* entry = nullptr;
    if (auto wrong = find_list(words[1], entry))
        return std::move(*wrong);
    auto names = Reply::list(Reply::Kind::array, {});
    if (entry == nullptr)
        return names;
    auto const end = std::min(place_of(*last, entry->list), std::ssize(entry->list) - 1);
    for (auto at = std::max<std::int64_t>(place_of(*first, entry->list), 0); at <= end; ++at)
        names.elements.push_back(Reply::bulk(entry->list[static_cast<std::size_t>(at)]));
    return names;
}

Reply RedisServer::llen(Words const& words)
{
    Keyspace::Entry* entry = nullptr;
    if (auto wrong = find_list(words[1], entry))
        return std::move(*wrong);
    return Reply::integer(entry == nullptr ? 0 : std::ssize(entry->list));
}

Reply RedisServer::lindex(Words const& words)
{
    Keyspace::Entry* entry = nullptr;
    if (auto wrong = find_list(words[1], entry))
        return std::move(*wrong);
    auto const index = number_in(words[2]);
    if (entry == nullptr)
        return Reply::null();
    if (!index)
        return no_number();
    auto const at = place_of(*index, entry->list);
    return at < 0 || at >= std::ssize(entry->list) ? Reply::null()
                                                   : Reply::bulk(entry->list[static_cast<std::size_t>(at)]);
}

Reply RedisServer::lpos(Words const& words)
{
    // RANK, COUNT and MAXLEN are not supported
    if (words.size() != 3)
        return Reply::error("ERR syntax error");
    Keyspace::Entry* entry = nullptr;
    if (auto wrong = find_list(words[1], entry))
        return std::move(*wrong);
    if (entry == nullptr)
        return Reply::null();
    auto const found = std::ranges::find(entry->list, words[2]);
    return found == entry->list.end() ? Reply::null() : Reply::integer(found - entry->list.begin());
}

} // namespace tenure::simulation
