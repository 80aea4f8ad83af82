// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#pragma once

#include "raw/client.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

namespace bench::raw
{

/** The floor of Redlock: one blocking client for each server, and replies taken from whichever has some. */
class Quorum
{
public:
    /** @throws std::system_error */
    explicit Quorum(std::vector<std::uint16_t> const& ports);

    [[nodiscard]] std::size_t size() const noexcept { return clients_.size(); }
    [[nodiscard]] std::size_t majority() const noexcept { return clients_.size() / 2 + 1; }
    [[nodiscard]] Client& operator[](std::size_t server) { return *clients_[server]; }

    void send_all(std::string_view bytes);

    /** Waits until any server has sent something, and hands over each reply that has arrived whole. */
    void receive(std::function<void(std::size_t server, Reply const&)> const& handler);

private:
    std::vector<std::unique_ptr<Client>> clients_;
};

} // namespace bench::raw
