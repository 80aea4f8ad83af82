// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
// Faults of the server, and changes of its keys behind its clients' backs.
#include "server.hpp"

#include "../world.hpp"

#include <array>
#include <string>

namespace tenure::simulation
{

std::uint64_t RedisServer::micros_now() const noexcept
{
    return static_cast<std::uint64_t>(now() / microsecond);
}

std::array<std::string, key_count> RedisServer::counters()
{
    std::array<std::string, key_count> values;
    for (KeyId id = 0; id < key_count; ++id)
        for (auto const& name : {std::string(counter_name), fence_name(id)})
            if (auto const* const entry = keys_of_.find(settings_.client.database, name, milliseconds_now()))
                values[id] += (entry->is_list() ? "a list" : entry->value) + " ";
    return values;
}

void RedisServer::lose_counter()
{
    for (KeyId id = 0; id < key_count; ++id)
        tokens_.lost(id, micros_now());
}

void RedisServer::lose_everything()
{
    keys_of_.clear();
    KnownStore::lose_everything();
    lose_counter();
}

void RedisServer::remember(std::uint32_t snapshot)
{
    earlier_[snapshot] = keys_of_;
    KnownStore::remember(snapshot);
}

void RedisServer::go_back_to(std::uint32_t snapshot, Ns clock_differs_by)
{
    // another machine, to which no connection leads yet
    network_.server_is_gone();
    auto const before = counters();
    keys_of_ = earlier_[snapshot];
    KnownStore::go_back_to(snapshot, clock_differs_by);
    tokens_.clock_jumped(micros_now());
    auto const after = counters();
    for (KeyId id = 0; id < key_count; ++id) {
        if (before[id] != after[id])
            tokens_.lost(id, micros_now());
        if (keys_[id].owner != 0)
            tokens_.granted(id, keys_[id].owner);
    }
}

void RedisServer::jump(Ns by)
{
    KnownStore::jump(by);
    tokens_.clock_jumped(micros_now());
}

void RedisServer::overwrite(KeyId id, std::string_view thief, Ns ttl)
{
    keys_of_.set(settings_.client.database, key_name(id), {std::string(thief), milliseconds_now() + ttl / millisecond});
    KnownStore::overwrite(id, thief, ttl);
}

void RedisServer::remove(KeyId id)
{
    keys_of_.erase(settings_.client.database, key_name(id));
    KnownStore::remove(id);
}

void RedisServer::refuse(bool is)
{
    if (is && !refuses)
        refusal_ = static_cast<Refusal>(random_.below(4));
    KnownStore::refuse(is);
}

void RedisServer::spoil(std::string_view key, bool by_list, Ns length)
{
    Keyspace::Entry other;
    // it ends on whichever server has it then
    other.expires = milliseconds_now() + length / millisecond;
    if (by_list)
        other.list.emplace_back("somebody else's");
    else
        other.value = "somebody else's";
    keys_of_.set(settings_.client.database, key, std::move(other));
}

void RedisServer::spoil_counter(bool by_list, Ns length)
{
    spoil(counter_name, by_list, length);
    lose_counter();
}

void RedisServer::lose_lines(Ns spoiled_for)
{
    for (auto const range : {RangeId::job, RangeId::plain, RangeId::slots}) {
        auto const line = line_name(range);
        if (spoiled_for == 0)
            keys_of_.erase(settings_.client.database, line);
        else
            spoil(line, false, spoiled_for);
    }
}

} // namespace tenure::simulation
