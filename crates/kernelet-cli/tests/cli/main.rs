//! The promises of the program, one test each.
#![allow(clippy::unwrap_used)]

mod arrays;
mod auto;
mod bad_data;
mod bad_models;
mod baselines;
mod basis;
mod blocks;
mod cascade;
mod compress;
mod construct;
mod demo;
mod direct;
mod direct_learners;
mod e1071;
mod evaluate;
mod experiments;
mod export;
mod family;
mod fisher;
mod fisher_pursuit;
mod goals;
mod inspect;
#[cfg(unix)]
mod interrupt;
mod kept_files;
mod labels;
mod limits;
mod metric;
mod pages;
mod pca;
mod predict;
mod probability;
mod program;
mod report;
mod reproduce;
mod reproduce_data;
mod requests;
mod rvm;
mod selection;
mod sets;
mod streams;
mod tables;
mod train;
mod tune;
mod usage;
