// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "command_line/option_terms.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace tenure::tool
{

namespace
{

struct Term {
    std::string_view field;
    std::string_view option;
};

/// what a message begins with, and what it begins with instead; of several that fit, the first
constexpr std::array terms = {
    // fields that are called otherwise than their option
    Term{"StoreOptions::worker_name", "--worker"}, Term{"LockConfig::key", "--lock"}, Term{"MultiLock", "--lock"},
    Term{"ElectionConfig::name", "NAME"}, Term{"SlotPoolConfig::prefix", "--pool"},
    Term{"SlotPoolConfig::reuse_after", "--reuse-after"}, Term{"LockConfig::reuse_after", "--reuse-after"},
    Term{"ShardGroupConfig::name", "--shards"}, Term{"ShardGroupConfig::shards", "--count"},
    Term{"ShardGroupConfig::", "--"},
    // the other fields
    Term{"ReadWriteLockConfig::lease.", "--"}, Term{"ReadWriteLockConfig::", "--"},
    Term{"ReadWriteLockConfig:", "--shared, --exclusive:"}, Term{"SemaphoreConfig::lease.", "--"},
    Term{"SemaphoreConfig::", "--"}, Term{"SemaphoreConfig:", "--semaphore:"}, Term{"LockConfig::lease.", "--"},
    Term{"SlotPoolConfig::lease.", "--"}, Term{"LockConfig::", "--"}, Term{"LockConfig:", "--fair:"},
    Term{"SlotPoolConfig::", "--"}, Term{"AcquireOptions::", "--"}, Term{"StoreOptions::", "--"},
    Term{"ElectionConfig::lease.", "--"}, Term{"ElectionConfig::", "--"}};

} // namespace

std::string in_terms_of_options(std::string const& message)
{
    for (auto const& [field, option] : terms)
        if (message.starts_with(field))
            return std::string(option) + message.substr(field.size());
    // all others are set by the URL
    auto const end = message.find("::");
    bool const names_field =
        end != std::string::npos &&
        std::all_of(message.begin(), message.begin() + static_cast<std::ptrdiff_t>(end), [](char c) {
            return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        });
    return names_field ? "--store: " + message.substr(end + 2) : message;
}

} // namespace tenure::tool
