// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include <tenure/lock.hpp>
#include <tenure/store.hpp>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace tenure::locks
{

/** Makes one of the locks of a composed lock.
 *
 *  @param composed  name of the composed lock's config, and `key` what it calls the key: errors use these names
 *  @throws std::invalid_argument */
[[nodiscard]] inline Lock
lock_of(Store const& store, LockConfig config, std::string_view composed, std::string_view key)
try {
    return {store, std::move(config)};
} catch (std::invalid_argument const& error) {
    constexpr std::string_view own = "LockConfig";
    std::string_view const words = error.what();
    if (!words.starts_with(own))
        throw;
    auto const rest = words.substr(own.size());
    constexpr std::string_view own_key = "::key";
    if (rest.starts_with(own_key))
        throw std::invalid_argument(
            std::string(composed) + "::" + std::string(key) + std::string(rest.substr(own_key.size())));
    throw std::invalid_argument(std::string(composed) + std::string(rest));
}

} // namespace tenure::locks
