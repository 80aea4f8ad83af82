// Part of tenure, under the Boost Software License 1.0 (see LICENSE).
#include "token_book.hpp"

#include <algorithm>

namespace tenure::simulation
{

void TokenBook::begin()
{
    for (auto& tokens : keys_)
        tokens = {};
    drawn_.clear();
}

void TokenBook::drawn(KeyId key, std::uint64_t value)
{
    auto& tokens = keys_[key];
    tokens.drawn = std::max(tokens.drawn, value);
    drawn_.insert(value);
}

void TokenBook::granted(KeyId key, OwnerId owner)
{
    auto& tokens = keys_[key];
    if (!tokens.grants.empty())
        tokens.grants.back().up_to = std::min(tokens.grants.back().up_to, tokens.highest);
    tokens.grants.push_back({owner, tokens.highest, open});
}

void TokenBook::step_ends()
{
    for (auto& tokens : keys_) {
        if (tokens.drawn == 0)
            continue;
        tokens.highest = std::max(tokens.highest, tokens.drawn);
        tokens.drawn = 0;
        tokens.lost = false;
    }
}

void TokenBook::lost(KeyId key, std::uint64_t server_micros)
{
    auto& tokens = keys_[key];
    tokens.lost = true;
    if (tokens.highest <= server_micros)
        return;
    // the one case in which the order may break; what the present owner draws from now on may be less, too
    auto& grants = tokens.grants;
    auto const owner = grants.empty() ? OwnerId{0} : grants.back().owner;
    if (owner != 0)
        grants.back().up_to = std::min(grants.back().up_to, tokens.highest);
    tokens.highest = 0;
    if (owner != 0)
        grants.push_back({owner, 0, open});
}

void TokenBook::clock_jumped(std::uint64_t server_micros)
{
    for (KeyId key = 0; key < key_count; ++key)
        if (keys_[key].lost)
            lost(key, server_micros);
}

std::string TokenBook::against(KeyId key, OwnerId owner, std::uint64_t token) const
{
    auto const called = "key " + std::to_string(key) + " was granted with fencing token " + std::to_string(token);
    if (!drawn_.contains(token))
        return called + ", which the server never drew";
    std::string wrong = called + ", and the server knows of no such grant";
    for (auto const& grant : keys_[key].grants) {
        if (grant.owner != owner)
            continue;
        if (token > grant.above && token <= grant.up_to)
            return {};
        wrong = called + (token <= grant.above ? ", and the counter stood at " + std::to_string(grant.above) + " before"
                                               : ", which was drawn after the key had gone to the next owner, above " +
                                                     std::to_string(grant.up_to));
    }
    return wrong;
}

} // namespace tenure::simulation
